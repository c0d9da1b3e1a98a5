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

# ---- Of one version

# A line for each package: its path on a mirror, and its SHA256.
locked_packages() { # SET
    awk -v set="$1" '$1 == "set" { inside = $2 == set } inside && $1 ~ /^pool\//' "$lock"
}

locked_sets() { awk '$1 == "set" { print $2 }' "$lock"; }

# A mirror keeps the versions of today, snapshot.debian.org all.
fetch_package() { # PATH SHA256
    local file=$cache/packages/${1##*/} from
    if [ -f "$file" ] && sha256sum --check --status <<<"$2  $file"; then return; fi
    mkdir -p "$cache/packages"
    for from in "$mirror" "https://snapshot.debian.org/archive/debian/$(sed -n 's/^snapshot //p' "$lock")"; do
        rm -f "$file"
        "$apt_helper" -o APT::Sandbox::User=root -o Acquire::Retries=3 download-file "$from/$1" "$file" "SHA256:$2" \
            >>"$cache/log" 2>&1 && return
    done
    return 1
}

# Prints the folder that the set lies unpacked in.
locked_root() { # SET
    local packages folder path sum
    packages=$(locked_packages "$1")
    folder=$cache/roots/$1-$(sha256sum <<<"$packages" | cut -c 1-16)
    if [ -d "$folder" ]; then echo "$folder" && return; fi
    if [ ! -x "$apt_helper" ] || ! has dpkg-deb || [ -z "$packages" ]; then return 1; fi
    say "fetching $(wc -l <<<"$packages") packages of the set $1 into $cache"
    rm -rf "$cache/roots/$1-"*
    mkdir -p "$folder.new"
    while read -r path sum; do
        fetch_package "$path" "$sum" || { say "cannot have $path: $cache/log" && return 1; }
        dpkg-deb -x "$cache/packages/${path##*/}" "$folder.new" || return 1
    done <<<"$packages"
    [ -e "$folder.new/lib" ] || ln -s usr/lib "$folder.new/lib" # as base-files has it when it is installed
    mv "$folder.new" "$folder"
    echo "$folder"
}
