# The table of the newest results, which lies in the repository: for tests/portability.sh, which sets root, work, results and
# every_row. A row that is not here leaves its lines as they are.

# Names the commit that is tried; the table itself is no change.
commit_tried() {
    local name changes
    name=$(git -C "$root" rev-parse --short HEAD 2>/dev/null) &&
        changes=$(git -C "$root" status --porcelain --untracked-files=no -- ':(exclude)bench/results/portability.md') ||
        { echo unknown && return; }
    echo "$name${changes:+, changed}"
}

# A row may take hours: its commit is the one that it began with. Two runs in one folder keep their rows apart.
begin_rows() {
    : >"$work/rows.$$"
    commit=$(commit_tried)
}

# The table has no paths of this machine, only their last parts.
collect_row() { # WHERE VERDICT NOTE
    local note
    note=$(sed -E 's,(^|[^[:alnum:]./_~+-])/([^[:space:]/][^[:space:]]*/)?([^[:space:]/]),\1\3,g' <<<"${3//"$work/"/}")
    printf '| %s | %s | %s | %s | %s |\n' "$1" "$2" "$note" "$(date -u +%F)" "$commit" >>"$work/rows.$$"
}

# The lines of a row stand below its name, in the order of every_row.
keep_rows() { # NAME
    local name
    [ -s "$work/rows.$$" ] || return 0
    if [ -e "$results" ] && [ ! -f "$results" ]; then return; fi # /dev/null keeps nothing, and stays
    {
        printf '# Where it has run\n\ntests/portability.sh writes this table: the newest result of each of its rows.\n\n'
        printf '| row | where | verdict | what | date | commit |\n|---|---|---|---|---|---|\n'
        for name in "${every_row[@]}"; do
            if [ "$name" = "$1" ]; then
                sed "s/^/| $name /" "$work/rows.$$"
            else
                grep -s "^| $name |" "$results" || true
            fi
        done
    } >"$work/results.new"
    { mkdir -p "$(dirname "$results")" && mv -f "$work/results.new" "$results"; } 2>/dev/null || say "cannot write $results"
    rm -f "$work/rows.$$"
}
