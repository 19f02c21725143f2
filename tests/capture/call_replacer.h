// An observer that looks at calls: those of one callable get a result without being made.
#pragma once

#include "capture/interpreter/observer.h"

namespace triptych::capture {

class CallReplacer final : public Observer {
 public:
  CallReplacer(Borrowed target, Borrowed result) : target_(target), result_(result) {}

  bool enter(const Frame&) override;
  Flow execute(Activation& activation, const Instruction& instruction) override;
  void left(Activation&, Exit) override { ++left_count; }

  int entered_count = 0;
  int left_count = 0;
  int call_count = 0;
  int replaced_count = 0;
  int keyword_count = 0;  // of the replaced calls

 private:
  Borrowed target_;
  Borrowed result_;
};

}  // namespace triptych::capture
