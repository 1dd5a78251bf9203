# Sourced by demo.sh and check.sh: how a build folder is made.

# Object files of equal sources and flags are shared between the build folders of one checkout.
export CCACHE_NOHASHDIR=1
export CXX="${CXX:-ccache g++}"

# configure FOLDER [OPTION...]: sets the folder up, or brings an existing one to these options.
configure() {
  local folder=$1
  shift
  if [ -f "$folder/build.ninja" ]; then
    meson configure "$folder" "$@"
  else
    meson setup "$folder" "$@" >"$folder.setup.log" 2>&1 || {
      tail -20 "$folder.setup.log" >&2
      echo "build: meson could not set up $folder" >&2
      return 1
    }
    mv "$folder.setup.log" "$folder/setup.log"
  fi
}
