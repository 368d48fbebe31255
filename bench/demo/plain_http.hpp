// As little HTTP as the demo needs: heads as text, bodies by length. For friendly peers only. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace weir::demo {

using Tcp = boost::asio::ip::tcp;

struct Head {
  std::string first_line;  // empty at the end of input
  std::string text;        // all of it, with the blank line
  std::size_t body_size = 0;

  std::string_view field(std::string_view name) const;  // of its first line; empty if there is none
};

// Reads one head and its body; `buffer` keeps what came behind. An empty `first_line` when the peer closed or failed.
boost::asio::awaitable<Head> read_message(Tcp::socket& socket, std::string& buffer, std::string& body);

// `127.0.0.1:8080`; asks nobody for names. Port 0 and no address if it is neither.
Tcp::endpoint parse_endpoint(std::string_view text);

// As many descriptors as the process may have.
void raise_descriptor_limit();

// For a coroutine's end: what went wrong is said, and the process goes on.
void report(std::exception_ptr error);

}  // namespace weir::demo
