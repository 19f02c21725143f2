// The lowerings that the op table names, by file.
#pragma once

#include "codegen/loops/lowerings/lowering.h"

namespace triptych::loops {

// view.cpp
Status lower_view(LoweringContext& context);
Status lower_as_strided(LoweringContext& context);

// reduction.cpp
Status lower_sum(LoweringContext& context);
Status lower_mean(LoweringContext& context);
Status lower_prod(LoweringContext& context);
Status lower_amax(LoweringContext& context);
Status lower_amin(LoweringContext& context);
Status lower_aminmax(LoweringContext& context);
Status lower_any(LoweringContext& context);
Status lower_all(LoweringContext& context);
Status lower_argmax(LoweringContext& context);
Status lower_argmin(LoweringContext& context);
Status lower_max_dim(LoweringContext& context);
Status lower_min_dim(LoweringContext& context);

// statistics.cpp
Status lower_variance(LoweringContext& context);
Status lower_deviation(LoweringContext& context);
Status lower_vector_norm(LoweringContext& context);
Status lower_logsumexp(LoweringContext& context);

// softmax.cpp
Status lower_softmax(LoweringContext& context);
Status lower_safe_softmax(LoweringContext& context);
Status lower_log_softmax(LoweringContext& context);

// normalization.cpp
Status lower_layer_norm(LoweringContext& context);
Status lower_rms_norm(LoweringContext& context);
Status lower_group_norm(LoweringContext& context);

// batch_norm.cpp
Status lower_batch_norm_inference(LoweringContext& context);
Status lower_batch_norm(LoweringContext& context);

// copy.cpp
Status lower_copy(LoweringContext& context);
Status lower_copy_from(LoweringContext& context);
Status lower_repeat(LoweringContext& context);
Status lower_flip(LoweringContext& context);
Status lower_roll(LoweringContext& context);

// factory.cpp
Status lower_full(LoweringContext& context);
Status lower_zeros(LoweringContext& context);
Status lower_ones(LoweringContext& context);
Status lower_arange(LoweringContext& context);
Status lower_tril(LoweringContext& context);
Status lower_triu(LoweringContext& context);

// indexing.cpp
Status lower_embedding(LoweringContext& context);
Status lower_index_select(LoweringContext& context);
Status lower_gather(LoweringContext& context);
Status lower_index(LoweringContext& context);

// joining.cpp
Status lower_cat(LoweringContext& context);
Status lower_stack(LoweringContext& context);
Status lower_select_scatter(LoweringContext& context);
Status lower_slice_scatter(LoweringContext& context);

// padding.cpp
Status lower_constant_pad(LoweringContext& context);
Status lower_reflection_pad(LoweringContext& context);
Status lower_replication_pad(LoweringContext& context);

// upsample.cpp
Status lower_upsample_nearest(LoweringContext& context);
Status lower_upsample_nearest_exact(LoweringContext& context);
Status lower_upsample_bilinear2d(LoweringContext& context);

}  // namespace triptych::loops
