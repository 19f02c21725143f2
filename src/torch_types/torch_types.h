// Torch's element types, devices, layouts and memory formats as the IR's, and back.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include "ir/argument.h"

namespace triptych {

// Unsupported ("torch.dtype") for quantized and other types that the IR does not have.
Result<ir::DType> to_ir(at::ScalarType dtype);
at::ScalarType to_torch(ir::DType dtype);

ir::Device to_ir(const c10::Device& device);
c10::Device to_torch(const ir::Device& device);

ir::Layout to_ir(c10::Layout layout);
c10::Layout to_torch(ir::Layout layout);  // kOther is an internal error

ir::MemoryFormat to_ir(c10::MemoryFormat format);
c10::MemoryFormat to_torch(ir::MemoryFormat format);

}  // namespace triptych
