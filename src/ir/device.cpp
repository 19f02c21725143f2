#include "ir/device.h"

#include "support/scanner.h"

namespace triptych::ir {

const InternedString& cpu_type_name() {
  static const InternedString name("cpu");
  return name;
}

std::string Device::str() const {
  return index < 0 ? type.str() : type.str() + ":" + std::to_string(index);
}

Result<Device> parse_device(std::string_view text) {
  Scanner scanner(text, "device.parse");
  const std::string_view type = scanner.word();
  if (type.empty()) return scanner.error("a device type");
  Device device{InternedString(type), -1};
  if (scanner.accept(":")) {
    TRIPTYCH_TRY(const std::int64_t index, scanner.integer());
    device.index = static_cast<int>(index);
  }
  if (!scanner.at_end()) return scanner.error("the end of the device");
  return device;
}

}  // namespace triptych::ir
