// Replies of a Valkey server (RESP2), read by hiredis, and commands written by it. What is too large or nested without end
// is an error of the reader: a server may lie (VAL-3). Owner and threads: one link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;
struct redisReply;

namespace weir::store {

// One reply; views stay valid as long as it. Absent: as null.
class Reply {
 public:
  Reply() noexcept = default;
  explicit Reply(redisReply* owned) noexcept;

  bool is_error() const noexcept;
  std::string_view error() const noexcept;                // empty: no error
  std::optional<std::string_view> text() const noexcept;  // a string or a status; nothing for all else, null too
  std::optional<std::int64_t> number() const noexcept;    // an integer, or a string that is one
  std::uint64_t counter() const noexcept;                 // a number that only grows; 0: none of ours
  bool is_null() const noexcept;
  bool is_array() const noexcept;
  std::size_t size() const noexcept;                // items of an array, else 0
  Reply operator[](std::size_t at) const noexcept;  // null beyond the end; keeps the whole alive

 private:
  Reply(std::shared_ptr<redisReply> owner, redisReply const* part) noexcept : owner_(std::move(owner)), part_(part) {}
  std::shared_ptr<redisReply> owner_;
  redisReply const* part_ = nullptr;
};

class ReplyReader {
 public:
  // `most`: bytes that an unfinished reply may take.
  explicit ReplyReader(std::size_t most);
  ~ReplyReader();
  ReplyReader(ReplyReader const&) = delete;
  ReplyReader& operator=(ReplyReader const&) = delete;

  // False: what came is no RESP, or too much; nothing more can be read.
  bool feed(std::span<char const> bytes) noexcept;
  // The next whole reply. Nothing: more bytes are needed, or `broken`.
  std::optional<Reply> next();
  bool broken() const noexcept { return broken_; }

 private:
  redisReader* reader_;
  std::size_t most_;
  std::size_t unfinished_ = 0;  // bytes since the last whole reply
  std::size_t items_ = 0;       // of the arrays of the unfinished reply
  bool broken_ = false;
};

// Commands to be sent together, and how many replies they have.
class Commands {
 public:
  Commands& add(std::span<std::string_view const> words);
  Commands& add(std::initializer_list<std::string_view> words) {
    return add(std::span<std::string_view const>(words.begin(), words.size()));
  }
  std::string bytes;
  std::size_t replies = 0;
};

}  // namespace weir::store
