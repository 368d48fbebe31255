// Messages as a test sees them, and a strict reader of them. It shares no code with Weir and forgives nothing: what RFC
// 9112 does not allow on the wire is `malformed`, with a sentence about what is wrong. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace weir::test {

struct Field {
  std::string name;
  std::string value;
  bool operator==(Field const&) const = default;
};
using Fields = std::vector<Field>;  // in the order of the wire

bool same_name(std::string_view a, std::string_view b) noexcept;  // ASCII case aside
std::string write_fields(Fields const& fields);                   // one `name: value` line each, no blank line

struct Message {
  std::string version;  // "HTTP/1.1"
  Fields fields;
  Fields trailers;
  std::string body;       // decoded, as far as it came
  std::string head;       // exact bytes with the blank line
  bool complete = false;  // the framing says that all of it came

  std::string value(std::string_view name) const;  // all lines of that name joined by ", "; empty if there is none
  std::size_t count(std::string_view name) const;  // lines of that name
  bool has(std::string_view name) const { return count(name) > 0; }
};

struct Request : Message {
  std::string method;
  std::string target;
  int connection = 0;  // which of the origin's connections brought it, from 1
};

// Why reading stopped.
enum class End {
  silence,    // nothing more came within the bound
  whole,      // the message ended as its framing says
  finished,   // the peer's FIN
  reset,      // the peer's RST
  malformed,  // `problem` says what is wrong
};

struct Response : Message {
  int status = 0;  // 0: no head came
  std::string reason;
  std::vector<Response> interim;  // the 1xx heads before it
  End end = End::silence;
  std::string problem;
  std::string raw;  // every byte of it, interim heads too
};

std::ostream& operator<<(std::ostream& out, Response const& response);
std::ostream& operator<<(std::ostream& out, Request const& request);
std::ostream& operator<<(std::ostream& out, Field const& field);
std::ostream& operator<<(std::ostream& out, End end);

// The body of one message, taken from the front of a growing buffer.
class BodyReader {
 public:
  enum class Framing { none, length, chunked, until_close };

  BodyReader() = default;
  BodyReader(Framing framing, std::uint64_t length) : framing_(framing), left_(length) {}

  Framing framing() const noexcept { return framing_; }
  // Moves what belongs to the body out of `buffer`, appending it to `message`; true when the body has ended.
  // A broken chunk sets `problem` and ends it too.
  bool take(std::string& buffer, Message& message, std::string& problem);

 private:
  bool take_length(std::string& buffer, std::string& body);
  bool take_chunks(std::string& buffer, Message& message, std::string& problem);

  enum class Chunk { size, data, data_end, trailers };
  Framing framing_ = Framing::none;
  std::uint64_t left_ = 0;
  Chunk chunk_ = Chunk::size;
};

// Reads one final response, with the interim ones before it.
class ResponseReader {
 public:
  explicit ResponseReader(std::string_view method = "GET") : head_only_(method == "HEAD") {}

  // Takes what belongs to the response from the front of `buffer`; true when it is whole or malformed.
  bool take(std::string& buffer);
  bool has_head() const noexcept { return has_head_; }
  std::size_t body_size() const noexcept { return response_.body.size(); }
  // The response as far as it came. A close-delimited one is whole if the input `finished`.
  Response so_far(End end) const;

 private:
  bool take_head(std::string& buffer);
  bool take_some(std::string& buffer);

  bool head_only_;
  bool has_head_ = false;
  bool whole_ = false;
  BodyReader body_;
  Response response_;
};

class RequestReader {
 public:
  // True when the head is there (or malformed): then `request()` has all but the body.
  bool take_head(std::string& buffer);
  // True when the body is there too.
  bool take_body(std::string& buffer);
  Request& request() noexcept { return request_; }
  std::string const& problem() const noexcept { return problem_; }

 private:
  BodyReader body_;
  Request request_;
  std::string problem_;
};

}  // namespace weir::test
