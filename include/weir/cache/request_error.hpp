// Errors that a client may have provoked with fields that are in no key (STO-1). Threads: pure.
#pragma once

#include "weir/http/field.hpp"

namespace weir::cache {

// More fields, or more bytes of names and values, than this are of no ordinary client; origins stumble from about 4 KiB on.
inline constexpr std::size_t ordinary_fields = 64;
inline constexpr std::size_t ordinary_field_bytes = 4096;

// Whether an answer of this status is about its request rather than its resource. By its definition (RFC 9110 15.5, RFC
// 6585, RFC 8470): 401, 403, 406, 407, 408, 411, 412, 413, 415, 416, 417, 421, 425, 426, 428, 429, 431. Any other from 400
// on if the request, `fields` as the origin got them, had what makes origins stumble: more fields or bytes than above, bytes
// beyond printable ASCII, fields that a request without a body has no use for, a login, an Accept, a media type or a URI
// that is none.
bool is_request_error(int status, http::Fields fields) noexcept;

}  // namespace weir::cache
