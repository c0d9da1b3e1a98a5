# For Doxygen: the plain comments of rope.h, rope.hpp and device.hpp as it wants them. A comment before a declaration speaks
# for every declaration up to the next empty line or comment; one behind a member speaks for that member.
function closes(line) { return line ~ /\*\// }

FNR == 1 { c = FILENAME !~ /hpp$/; paragraph = ""; depth = 0; trailing = 0 }

# The page's beginning.
FNR == 1 && c { sub(/^\/\* /, "/** @mainpage "); sub(/\. MIT licence\.$/, ""); print; opening = 1; next }
FNR == 1 { sub(/^\/\/ /, "/// @file\n/// "); print; next }
opening { opening = !closes($0); print; next }

# A section's title, and what it says of all that follows.
c && /^\/\* ----/ {
    title = $0
    sub(/^\/\* -+ */, "", title)
    sub(/ *-*( \*\/)?$/, "", title)
    if (!closes($0)) {
        print "/** @par " title
        section = 1
    } else print "";
    next
}
section { section = !closes($0); print; next }

c && depth == 0 && /^\/\*/ { comment = 1; text = "" }
comment {
    sub(/^\/\*/, "/**")
    text = text $0 "\n"
    if (closes($0)) { comment = 0; paragraph = text; }
    next
}

c && depth == 0 && /^(ROPE_API|typedef|#define ROPE_)/ && paragraph != "" { printf "%s", paragraph }
/^$/ && depth == 0 { paragraph = "" }

# Behind a member, and on the lines below it.
c { if ($0 !~ /^ *\/\*/) sub(/\/\* /, "/**< ") }
!c && /^ *\/\/ / {
    if (trailing && index($0, "//") >= trailing) sub(/\/\//, "///<")
    else sub(/\/\//, "///")
}
!c && /[^ ] *\/\/ [^<]/ && !/^ *\/\/\// { trailing = index($0, "//"); sub(/\/\/ /, "///< ") }
!c && !/\/\/\// { trailing = 0 }

{
    print
    line = $0
    sub(/\/[*\/].*/, "", line)
    depth += gsub(/{/, "{", line) - gsub(/}/, "}", line)
    if (line ~ /extern "C"/) depth = 0
    if (depth < 0) depth = 0
}
