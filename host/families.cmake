# The families of encodings that a build may leave out: an option for each, its shaders and its sources. A file of two families
# stays as long as one of them does. host/plan/left_out.cpp has the calls of those that are left out.
option(VKROPE_WITH_ADDITIONS "Have positions added to embeddings (ropePlanAdd)" ON)
option(VKROPE_WITH_BIASES "Have biases on attention scores (ropePlanBias)" ON)
option(VKROPE_WITH_RELATIVE "Have relative vectors (ropePlanRelative)" ON)
option(VKROPE_WITH_FUSED "Have passes from projection to cache (ropePlanFused)" ON)

set(VKROPE_FAMILIES ADDITIONS BIASES RELATIVE FUSED)
set(VKROPE_ADDITIONS_FILES add.comp host/plan/add.cpp host/plan/add_resolve.cpp host/reference/run_add.cpp)
set(VKROPE_BIASES_FILES bias.comp host/plan/bias.cpp host/plan/bias_resolve.cpp host/plan/scores.cpp host/reference/run_bias.cpp)
set(VKROPE_RELATIVE_FILES relative.comp host/plan/relative.cpp host/plan/relative_resolve.cpp host/plan/scores.cpp
    host/reference/run_relative.cpp)
set(VKROPE_FUSED_FILES fused.comp host/plan/fused.cpp host/plan/fused_bindings.cpp host/plan/fused_cache.cpp
    host/plan/fused_geometry.cpp host/plan/fused_groups.cpp host/plan/fused_inputs.cpp
    host/plan/fused_norms.cpp host/plan/fused_parameters.cpp host/plan/fused_resolve.cpp
    host/plan/fused_weights.cpp host/plan/fused_words.cpp
    host/reference/quantize.cpp host/reference/run_fused.cpp host/reference/norm_sums.cpp host/reference/slot.cpp)

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
