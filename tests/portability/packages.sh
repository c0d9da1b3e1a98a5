# Debian's packages, unpacked into folders of their own: for tests/portability.sh and pin.sh, which set root and mirror.
# Those of packages.lock are of one version each, and stay in a cache when the build folder goes.

lock=$root/tests/portability/packages.lock
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/vkrope
apt_helper=/usr/lib/apt/apt-helper

private_apt() { # FOLDER SUITE ARCHITECTURE
    mkdir -p "$1/state/lists/partial" "$1/cache/archives/partial"
    : >"$1/status" # nothing is installed, so that all that a package takes comes with it
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $2 main" >"$1/sources.list"
    cat >"$1/apt.conf" <<END
Dir::State "$1/state";
Dir::State::status "$1/status";
Dir::Cache "$1/cache";
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "/dev/null";
APT::Architecture "$3";
APT::Architectures { "$3"; };
APT::Sandbox::User "root";
Acquire::Retries "3";
END
    APT_CONFIG=$1/apt.conf apt-get update >"$1/log" 2>&1
}

# Whatever version the suite has. The packages alone, or (with everything) all that they depend on too.
unpack_packages() { # FOLDER SUITE ARCHITECTURE alone|everything PACKAGE...
    local folder=$1 scope=$4 package
    if [ "$(cat "$folder/unpacked" 2>/dev/null)" = "$*" ]; then return; fi
    if ! has apt-get || ! has dpkg-deb; then return 1; fi
    say "downloading ${*:5} of $2 for $3"
    rm -rf "$folder"
    private_apt "$folder" "$2" "$3" || return 1
    if [ "$scope" = alone ]; then
        (cd "$folder/cache/archives" && APT_CONFIG=$folder/apt.conf apt-get download "${@:5}") >>"$folder/log" 2>&1 || return 1
    else
        APT_CONFIG=$folder/apt.conf apt-get -y --no-install-recommends --download-only install "${@:5}" \
            >>"$folder/log" 2>&1 || return 1
    fi
    mkdir -p "$folder/root"
    for package in "$folder"/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder/root" || return 1; done
    rm -rf "$folder/cache" "$folder/state"
    echo "$*" >"$folder/unpacked"
}

# ---- Packages of one version

# A line for each package: its path on a mirror, and its SHA256.
locked_packages() { # SET
    awk -v set="$1" '$1 == "set" { inside = $2 == set } inside && $1 ~ /^pool\//' "$lock"
}

locked_sets() { awk '$1 == "set" { print $2 }' "$lock"; }

# A mirror keeps the versions of today, snapshot.debian.org all. The status is 1 where no mirror that may have the package is
# reached; it is 2 for all else, and a sentence is printed.
fetch_package() { # PATH SHA256 NEW-FILE
    local file=$cache/packages/${1##*/} from said away="" fault=""
    if [ -f "$file" ] && sha256sum --check --status <<<"$2  $file"; then return; fi
    for from in "$mirror" "https://snapshot.debian.org/archive/debian/$(sed -n 's/^snapshot //p' "$lock")"; do
        said=$(LC_ALL=C "$apt_helper" -o APT::Sandbox::User=root -o Acquire::Retries=3 \
            download-file "$from/$1" "$3" "SHA256:$2" 2>&1) && mv "$3" "$file" && return
        echo "$said" >>"$cache/log"
        if grep -qiE '^E: .*(resolv|connect|unreachable|timed out|  50[234] )' <<<"$said"; then
            away=1
        elif [ -z "$fault" ] && ! grep -q '^E: .*  404 ' <<<"$said"; then
            fault=$(sed -n '/^E: /{s///;s/ \[IP:.*//;p;q}' <<<"$said")
            fault=${fault:-cannot keep $1}
        fi
    done
    if [ -n "$away" ] && [ -z "$fault" ]; then return 1; fi
    echo "${fault:-no mirror has $1}: $cache/log"
    return 2
}

# Prints the folder that the set lies unpacked in; else as fetch_package. A folder stays when packages.lock has other versions:
# another checkout may use it.
locked_root() ( # SET
    packages=$(locked_packages "$1")
    folder=$cache/roots/$1-$(sha256sum <<<"$packages" | cut -c 1-16)
    if [ -d "$folder" ]; then echo "$folder" && exit; fi
    if [ -z "$packages" ]; then echo "packages.lock has no set $1" && exit 2; fi
    if [ ! -x "$apt_helper" ] || ! has dpkg-deb; then exit 1; fi
    say "fetching $(wc -l <<<"$packages") packages of the set $1 into $cache"
    new=$(mkdir -p "$cache/packages" "$cache/roots" && mktemp -d "$cache/roots/new.XXXXXX") && mkdir "$new/root" ||
        { echo "cannot write to $cache" && exit 2; }
    trap 'rm -rf "$new"' EXIT
    while read -r path sum; do
        fetch_package "$path" "$sum" "$new/package" || exit
        dpkg-deb -x "$cache/packages/${path##*/}" "$new/root" 2>>"$cache/log" ||
            { echo "${path##*/} does not unpack: $cache/log" && exit 2; }
    done <<<"$packages"
    [ -e "$new/root/lib" ] || ln -s usr/lib "$new/root/lib" # as base-files has it when it is installed
    mv -T "$new/root" "$folder" 2>/dev/null || [ -d "$folder" ] || { echo "cannot write to $cache" && exit 2; } # or another run's
    echo "$folder"
)
