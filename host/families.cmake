# The families of encodings that a build may leave out: an option for each, its shaders and its sources. A file of two families
# stays as long as one of them does. host/core/plan/left_out.cpp has the calls of those that are left out.
option(VKROPE_WITH_ADDITIONS "Have positions added to embeddings (ropePlanAdd)" ON)
option(VKROPE_WITH_BIASES "Have biases on attention scores (ropePlanBias)" ON)
option(VKROPE_WITH_RELATIVE "Have relative vectors (ropePlanRelative)" ON)
option(VKROPE_WITH_FUSED "Have passes from projection to cache (ropePlanFused)" ON)

set(VKROPE_FAMILIES ADDITIONS BIASES RELATIVE FUSED)
set(VKROPE_ADDITIONS_FILES encodings/add.comp host/core/plan/encodings/add.cpp host/core/plan/encodings/add_resolve.cpp host/core/reference/run_add.cpp)
set(VKROPE_BIASES_FILES encodings/bias.comp host/core/plan/encodings/bias.cpp host/core/plan/encodings/bias_resolve.cpp host/core/plan/encodings/scores.cpp host/core/reference/run_bias.cpp)
set(VKROPE_RELATIVE_FILES encodings/relative.comp host/core/plan/encodings/relative.cpp host/core/plan/encodings/relative_resolve.cpp host/core/plan/encodings/scores.cpp
    host/core/reference/run_relative.cpp)
set(VKROPE_FUSED_FILES fused/fused.comp host/core/plan/fused/fused.cpp host/core/plan/fused/arrangement.cpp host/core/plan/fused/bindings.cpp host/core/plan/fused/cache.cpp
    host/core/plan/fused/geometry.cpp host/core/plan/fused/groups.cpp host/core/plan/fused/hadamard.cpp host/core/plan/fused/biases.cpp
    host/core/plan/fused/norms.cpp host/core/plan/fused/record.cpp host/core/plan/fused/strides.cpp host/core/plan/fused/parameters.cpp host/core/plan/fused/resolve.cpp
    host/core/reference/quantize.cpp host/core/reference/run_fused.cpp host/core/reference/norm_sums.cpp host/core/reference/slot.cpp)

set(VKROPE_LEFT_OUT)       # families
set(VKROPE_LEFT_OUT_FILES) # of list.def's shaders, and sources
foreach(family IN LISTS VKROPE_FAMILIES)
    if(NOT VKROPE_WITH_${family})
        list(APPEND VKROPE_LEFT_OUT ${family})
        list(APPEND VKROPE_LEFT_OUT_FILES ${VKROPE_${family}_FILES})
    endif()
endforeach()
foreach(family IN LISTS VKROPE_FAMILIES)
    if(VKROPE_WITH_${family})
        list(REMOVE_ITEM VKROPE_LEFT_OUT_FILES ${VKROPE_${family}_FILES})
    endif()
endforeach()
