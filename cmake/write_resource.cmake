# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a C++ file whose FUNCTION returns the bytes of INPUT. Run by nanhunt_embed.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................................................)"
  "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"report/resources.h\"
namespace nanhunt::report {
namespace {
constexpr unsigned char kBytes[] = {
${bytes}};
}
std::string_view ${FUNCTION}() {
  return {reinterpret_cast<const char*>(kBytes), sizeof kBytes};
}
}
")
