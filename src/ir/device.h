// A device: a type name ("cpu", "cuda", the name of a PrivateUse1 backend) and an index (-1:
// current).
#pragma once

#include <string>
#include <string_view>

#include "support/interned_string.h"
#include "support/result.h"

namespace triptych::ir {

const InternedString& cpu_type_name();  // interned once: default-made types cost no look-up

struct Device {
  InternedString type = cpu_type_name();
  int index = -1;

  std::string str() const;  // "cpu", "cuda:0"
  friend bool operator==(const Device&, const Device&) = default;
};

Result<Device> parse_device(std::string_view text);

}  // namespace triptych::ir
