// Whether this process's CPython has the frames that this build was made for. Run once, at import.
#pragma once

#include "support/result.h"

namespace triptych::capture {

// Runs probes through the interpreter and looks at their frames. An error says what is not as
// expected; then nothing may be interpreted in this process.
Status self_test();

// The same with other probes, which define the same functions: for tests of the test.
Status self_test_with(const char* probes);

}  // namespace triptych::capture
