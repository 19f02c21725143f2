#include "torch_types/torch_types.h"

#include <array>

namespace triptych {
namespace {

struct DTypePair {
  at::ScalarType torch;
  ir::DType ir;
};
constexpr std::array kDTypes = {
    DTypePair{at::kBool, ir::DType::kBool},
    DTypePair{at::kByte, ir::DType::kU8},
    DTypePair{at::kChar, ir::DType::kI8},
    DTypePair{at::kShort, ir::DType::kI16},
    DTypePair{at::kInt, ir::DType::kI32},
    DTypePair{at::kLong, ir::DType::kI64},
    DTypePair{at::kHalf, ir::DType::kF16},
    DTypePair{at::kBFloat16, ir::DType::kBF16},
    DTypePair{at::kFloat, ir::DType::kF32},
    DTypePair{at::kDouble, ir::DType::kF64},
    DTypePair{at::kComplexHalf, ir::DType::kC32},
    DTypePair{at::kComplexFloat, ir::DType::kC64},
    DTypePair{at::kComplexDouble, ir::DType::kC128},
    DTypePair{at::kUInt16, ir::DType::kU16},
    DTypePair{at::kUInt32, ir::DType::kU32},
    DTypePair{at::kUInt64, ir::DType::kU64},
    DTypePair{at::kFloat8_e4m3fn, ir::DType::kF8E4M3FN},
    DTypePair{at::kFloat8_e5m2, ir::DType::kF8E5M2},
    DTypePair{at::kFloat8_e4m3fnuz, ir::DType::kF8E4M3FNUZ},
    DTypePair{at::kFloat8_e5m2fnuz, ir::DType::kF8E5M2FNUZ},
    DTypePair{at::kFloat8_e8m0fnu, ir::DType::kF8E8M0FNU},
};

}  // namespace

Result<ir::DType> to_ir(at::ScalarType dtype) {
  for (const DTypePair& pair : kDTypes) {
    if (pair.torch == dtype) return pair.ir;
  }
  return unsupported("torch.dtype", std::string("dtype ") + c10::toString(dtype) +
                                        " has no counterpart in the intermediate form");
}

at::ScalarType to_torch(ir::DType dtype) {
  for (const DTypePair& pair : kDTypes) {
    if (pair.ir == dtype) return pair.torch;
  }
  TRIPTYCH_UNREACHABLE("a dtype is missing from the table");
}

ir::Device to_ir(const c10::Device& device) {
  static const InternedString cpu("cpu");  // by far the most frequent: no string is built
  if (device.is_cpu()) return {cpu, device.index()};
  return {InternedString(c10::DeviceTypeName(device.type(), /*lower_case=*/true)), device.index()};
}

c10::Device to_torch(const ir::Device& device) { return c10::Device(device.str()); }

ir::Layout to_ir(c10::Layout layout) {
  switch (layout) {
    case c10::kStrided:
      return ir::Layout::kStrided;
    case c10::kSparse:
      return ir::Layout::kSparse;
    case c10::kSparseCsr:
      return ir::Layout::kSparseCsr;
    case c10::kMkldnn:
      return ir::Layout::kMkldnn;
    case c10::kJagged:
      return ir::Layout::kJagged;
    default:
      return ir::Layout::kOther;  // torch adds layouts between its versions
  }
}

c10::Layout to_torch(ir::Layout layout) {
  switch (layout) {
    case ir::Layout::kStrided:
      return c10::kStrided;
    case ir::Layout::kSparse:
      return c10::kSparse;
    case ir::Layout::kSparseCsr:
      return c10::kSparseCsr;
    case ir::Layout::kMkldnn:
      return c10::kMkldnn;
    case ir::Layout::kJagged:
      return c10::kJagged;
    case ir::Layout::kOther:
      break;
  }
  TRIPTYCH_UNREACHABLE("a layout that the intermediate form does not have");
}

ir::MemoryFormat to_ir(c10::MemoryFormat format) {
  switch (format) {
    case c10::MemoryFormat::Preserve:
      return ir::MemoryFormat::kPreserve;
    case c10::MemoryFormat::ChannelsLast:
      return ir::MemoryFormat::kChannelsLast;
    case c10::MemoryFormat::ChannelsLast3d:
      return ir::MemoryFormat::kChannelsLast3d;
    default:
      return ir::MemoryFormat::kContiguous;
  }
}

c10::MemoryFormat to_torch(ir::MemoryFormat format) {
  switch (format) {
    case ir::MemoryFormat::kContiguous:
      return c10::MemoryFormat::Contiguous;
    case ir::MemoryFormat::kPreserve:
      return c10::MemoryFormat::Preserve;
    case ir::MemoryFormat::kChannelsLast:
      return c10::MemoryFormat::ChannelsLast;
    case ir::MemoryFormat::kChannelsLast3d:
      return c10::MemoryFormat::ChannelsLast3d;
  }
  TRIPTYCH_UNREACHABLE("memory format");
}

}  // namespace triptych
