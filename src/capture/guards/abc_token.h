// Which classes are registered with abstract base classes, as one number.
#pragma once

#include <cstdint>

namespace triptych::capture {

// abc.get_cache_token(): another one after each `register`, which is when a class that was no
// instance of an abstract one may have become one. Runs no Python code.
std::int64_t abc_token();

}  // namespace triptych::capture
