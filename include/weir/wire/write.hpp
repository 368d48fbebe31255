// Heads onto the wire, appended to a string. Values that no parser checked are checked here: what could split a head is not
// written and the call returns false, for the caller to count or log. Threads: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/http/field.hpp"

namespace weir::wire {

// "HTTP/1.1 200 OK\r\n". Status 100 to 999. A reason that is no field value is left out: false.
bool append_status_line(std::string& out, int status, std::string_view reason);
// "GET /a?b HTTP/1.1\r\n". Method a token, path and query of bytes that a target may hold; `path` not empty.
bool append_request_line(std::string& out, std::string_view method, std::string_view path, std::string_view query,
                         bool has_query);
// "Name: value\r\n".
bool append_field(std::string& out, std::string_view name, std::string_view value);
bool append_field(std::string& out, std::string_view name, std::uint64_t value);

}  // namespace weir::wire
