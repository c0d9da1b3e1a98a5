/* This host makes tables and rotations on its device and nothing else. It is linked for its size, and never run. */
#include <vkrope/rope.h>

int main(int argc, char** argv) {
    RopeContextInfo* info = (RopeContextInfo*)(void*)argv;
    RopeContext* context;
    RopePlan plan;
    if (argc < 1000) return 0;
    if (ropeWriteFrequencies((const RopeFrequencies*)(void*)argv, ROPE_ANGLE_EXACT, argv, 0) != ROPE_SUCCESS) return 1;
    if (ropePlanTable((const RopeTableDescription*)(void*)argv, 0, &plan) != ROPE_SUCCESS) return 1;
    if (ropePlanRotate((const RopeRotateDescription*)(void*)argv, 0, &plan) != ROPE_SUCCESS) return 1;
    if (ropeCreateContext(info, &context) != VK_SUCCESS || ropePrepare(context, &plan, 1, 0) != VK_SUCCESS) return 1;
    ropeCmdExecute(0, context, &plan, (const RopeBuffers*)(void*)argv);
    ropeDestroyContext(context);
    return 0;
}
