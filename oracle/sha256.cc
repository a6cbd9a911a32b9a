// SPDX-License-Identifier: Apache-2.0
#include "oracle/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <cstdio>

#include "trace/check.h"

namespace nanhunt::oracle {

std::string sha256(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  NANHUNT_CHECK(
      EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr));
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", digest[i]);
    hex += two;
  }
  return hex;
}

}  // namespace nanhunt::oracle
