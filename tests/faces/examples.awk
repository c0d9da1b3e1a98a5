# Writes the five examples of fused passes in rope.h as C functions: awk -f examples.awk rope.h
/^ \* Five passes/ { inside = 1 }
inside && /^ \*     [^;=]*: [^;]*$/ {
    end()
    name = $0
    sub(/^ \*     /, "", name)
    sub(/: .*/, "", name)
    names = names "\"" name "\", "
    functions = functions "example" (count + 0) ", "
    print "static void example" (count++ + 0) "(RopeFusedDescription* given, RopeBuffers* bound) {"
    print "    RopeFusedDescription d = {0};\n    RopeBuffers b = {0};"
    next
}
inside && count && /^ \*     / {
    sub(/^ \*     /, "    ")
    sub(/ *(\/\/.*|\*\/)$/, "")
    print
}
inside && /\*\/$/ { inside = 0 }
function end() {
    if (count) print "    *given = d;\n    *bound = b;\n}\n"
}
END {
    end()
    print "static void (*const kExamples[])(RopeFusedDescription*, RopeBuffers*) = {" functions "};"
    print "static const char* const kNames[] = {" names "};"
}
