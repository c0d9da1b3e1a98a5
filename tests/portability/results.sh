# The table of the newest results, which lies in the repository: for tests/portability.sh, which sets root, work, results and
# every_row. A row that is not here leaves its lines as they are.

# Names the commit that is tried; the table itself is no change.
commit_tried() {
    local name
    name=$(git -C "$root" rev-parse --short HEAD 2>/dev/null) || { echo unknown && return; }
    if git -C "$root" status --porcelain --untracked-files=no | grep -qv "/${results##*/}\$"; then name+=", changed"; fi
    echo "$name"
}

begin_rows() { : >"$work/rows"; }

collect_row() { # WHERE VERDICT NOTE
    printf '| %s | %s | %s | %s | %s |\n' "$1" "$2" "${3//$root\//}" "$(date -u +%F)" "$(commit_tried)" >>"$work/rows"
}

# The lines of a row stand below its name, in the order of every_row.
keep_rows() { # NAME
    local name
    [ -s "$work/rows" ] || return 0
    mkdir -p "$(dirname "$results")"
    [ ! -f "$results" ] || cp "$results" "$work/results.old"
    {
        printf '# Where it has run\n\ntests/portability.sh writes this table: the newest result of each of its rows.\n\n'
        printf '| row | where | | what | date | commit |\n|---|---|---|---|---|---|\n'
        for name in "${every_row[@]}"; do
            if [ "$name" = "$1" ]; then
                sed "s/^/| $name /" "$work/rows"
            else
                grep -s "^| $name |" "$work/results.old" || true
            fi
        done
    } >"$results"
}
