#include "call_replacer.h"

#include "capture/interpreter/call_site.h"

namespace triptych::capture {

bool CallReplacer::enter(const Frame&) {
  ++entered_count;
  return true;
}

Flow CallReplacer::execute(Activation& activation, const Instruction& instruction) {
  if (instruction.op != Op::kCall && instruction.op != Op::kCallKw) {
    return Observer::execute(activation, instruction);
  }
  ++call_count;
  const CallSite site = call_site(activation, instruction);
  if (site.callable.get() != target_.get()) return Observer::execute(activation, instruction);
  ++replaced_count;
  if (site.keyword_names) keyword_count += PyTuple_GET_SIZE(site.keyword_names.get());
  activation.drop(site.operands);
  activation.push(Owned::copy(result_));
  return Flow::kNext;
}

}  // namespace triptych::capture
