// Heads onto the wire. Values that no parser checked are checked here: a field that could split a head is dropped and
// asserted against in debug. Appends to any string-like buffer. Threads: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/http/field.hpp"

namespace weir::wire {

void append_status_line(std::string& out, int status, std::string_view reason);   // "HTTP/1.1 200 OK\r\n"
void append_request_line(std::string& out, std::string_view method, std::string_view path, std::string_view query, bool has_query);
void append_field(std::string& out, std::string_view name, std::string_view value);
void append_field(std::string& out, std::string_view name, std::uint64_t value);

}  // namespace weir::wire
