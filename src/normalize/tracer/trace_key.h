// The dispatcher key that the tracer sits on: below autograd and functionalization, above
// everything that computes.
#pragma once

#include <c10/core/DispatchKey.h>
#include <c10/core/DispatchKeySet.h>

#include "support/result.h"

namespace triptych::normalize {

// `Fake` has no user in torch 2.11 to 2.14; factories reach it by thread-local inclusion, before
// BackendSelect, which no other free functionality key allows.
constexpr c10::DispatchKey trace_key() { return c10::DispatchKey::Fake; }

// Above autograd, autocast and functionalization: here come the few ops that have to be caught
// before these take them apart (composites.h). The key is meant for libraries, and torch uses it
// for nothing; ops without a kernel of ours fall through it.
constexpr c10::DispatchKey composite_key() { return c10::DispatchKey::DeferredInit; }

// Puts our boxed fallback on the key, once per process. Unsupported when somebody else has one
// there.
Status register_trace_fallback();

// Keys that nothing inside the tracer may dispatch to by thread-local inclusion.
constexpr c10::DispatchKeySet keys_above_tracing() {
  return c10::DispatchKeySet({trace_key(), composite_key(), c10::DispatchKey::Functionalize,
                              c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot});
}

}  // namespace triptych::normalize
