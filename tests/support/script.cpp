#include "support/script.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace weir::test {

namespace {

std::string_view reason(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 103:
      return "Early Hints";
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 304:
      return "Not Modified";
    case 404:
      return "Not Found";
    case 500:
      return "Internal Server Error";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Scripted";
  }
}

bool frames(Fields const& fields) {
  return std::any_of(fields.begin(), fields.end(), [](Field const& field) {
    return same_name(field.name, "Content-Length") || same_name(field.name, "Transfer-Encoding");
  });
}

std::string hex(std::size_t number) {
  char digits[16];
  auto const [end, error] = std::to_chars(std::begin(digits), std::end(digits), number, 16);
  return {digits, end};
}

}  // namespace

Script& Script::send(std::string bytes) {
  steps_.push_back(Send{std::move(bytes), false});
  return *this;
}

Script& Script::head(int status, Fields const& fields) {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " ";
  return send(text.append(reason(status)).append("\r\n").append(write_fields(fields)).append("\r\n"));
}

Script& Script::body(std::string bytes) {
  steps_.push_back(Send{std::move(bytes), true});
  return *this;
}

Script& Script::chunk(std::string_view bytes) { return body(hex(bytes.size()) + "\r\n" + std::string(bytes) + "\r\n"); }

Script& Script::last_chunk(Fields const& trailers) { return body("0\r\n" + write_fields(trailers) + "\r\n"); }

Script& Script::wait(Gate const& gate) {
  steps_.push_back(gate);
  return *this;
}

Script& Script::close() {
  steps_.push_back(Close{});
  return *this;
}

Script& Script::reset() {
  steps_.push_back(Reset{});
  return *this;
}

Script& Script::hang() {
  steps_.push_back(Hang{});
  return *this;
}

Script& Script::close_after(std::size_t bytes) {
  cut(bytes);
  return close();
}

Script& Script::reset_after(std::size_t bytes) {
  cut(bytes);
  return reset();
}

void Script::cut(std::size_t bytes) {
  for (auto step = steps_.begin(); step != steps_.end(); ++step) {
    Send* const piece = std::get_if<Send>(&*step);
    if (piece == nullptr) continue;
    if (piece->bytes.size() >= bytes) {
      piece->bytes.resize(bytes);
      steps_.erase(std::next(step), steps_.end());
      return;
    }
    bytes -= piece->bytes.size();
  }
}

Script respond(int status, Fields fields, std::string body) {
  bool const bodiless = status < 200 || status == 204 || status == 304;
  if (!bodiless && !frames(fields)) fields.push_back({"Content-Length", std::to_string(body.size())});
  Script script;
  script.head(status, fields);
  if (!bodiless && !body.empty()) script.body(std::move(body));
  return script;
}

Script respond_chunked(int status, Fields fields, std::vector<std::string> const& pieces, Fields const& trailers) {
  fields.push_back({"Transfer-Encoding", "chunked"});
  Script script;
  script.head(status, fields);
  for (std::string const& piece : pieces) script.chunk(piece);
  return script.last_chunk(trailers);
}

Script respond_until_close(int status, Fields fields, std::string body) {
  fields.push_back({"Connection", "close"});
  return Script().head(status, fields).body(std::move(body)).close();
}

Script hang() { return Script().hang(); }

Script reset() { return Script().reset(); }

Script close() { return Script().close(); }

}  // namespace weir::test
