#include "reply.hpp"

#include <hiredis/hiredis.h>

#include <charconv>
#include <limits>
#include <new>

#include "number_limit.hpp"
#include "weir/base/assert.hpp"

namespace weir::store {
namespace {

// Items of a reply, in all its arrays; ours have as many as an epoch page at most.
constexpr std::size_t most_items = 65'536;

// hiredis allocates room for what the server says will come; a lie must not cost gigabytes.
template <class Count>
void* bounded_array(redisReadTask const* task, Count count);

struct Functions : redisReplyObjectFunctions {
  using CreateArray = decltype(redisReplyObjectFunctions::createArray);
  CreateArray create_any = nullptr;
  Functions() : redisReplyObjectFunctions{} {
    redisReader* const reader = redisReaderCreate();
    if (reader == nullptr) throw std::bad_alloc();
    static_cast<redisReplyObjectFunctions&>(*this) = *reader->fn;
    redisReaderFree(reader);
    create_any = createArray;
    createArray = &bounded_array;
  }
};

Functions& functions() {
  static Functions all;
  return all;
}

template <class Count>
void* bounded_array(redisReadTask const* task, Count count) {
  auto& items = *static_cast<std::size_t*>(task->privdata);
  if (static_cast<std::size_t>(count) > most_items - items) return nullptr;
  items += static_cast<std::size_t>(count);
  return functions().create_any(task, count);
}

}  // namespace

Reply::Reply(redisReply* owned) noexcept : owner_(owned, [](redisReply* reply) { freeReplyObject(reply); }), part_(owned) {}

bool Reply::is_error() const noexcept { return part_ != nullptr && part_->type == REDIS_REPLY_ERROR; }

std::string_view Reply::error() const noexcept {
  return is_error() ? std::string_view(part_->str, static_cast<std::size_t>(part_->len)) : std::string_view();
}

std::optional<std::string_view> Reply::text() const noexcept {
  if (part_ == nullptr || (part_->type != REDIS_REPLY_STRING && part_->type != REDIS_REPLY_STATUS)) return std::nullopt;
  return std::string_view(part_->str, static_cast<std::size_t>(part_->len));
}

std::optional<std::int64_t> Reply::number() const noexcept {
  if (part_ != nullptr && part_->type == REDIS_REPLY_INTEGER) return part_->integer;
  auto const digits = text();
  std::int64_t value = 0;
  if (!digits) return std::nullopt;
  auto const [end, error] = std::from_chars(digits->data(), digits->data() + digits->size(), value);
  if (error != std::errc() || end != digits->data() + digits->size()) return std::nullopt;
  return value;
}

std::uint64_t Reply::counter() const noexcept {
  auto const value = number().value_or(0);
  return value > 0 && value < number_limit ? static_cast<std::uint64_t>(value) : 0;
}

bool Reply::is_null() const noexcept { return part_ == nullptr || part_->type == REDIS_REPLY_NIL; }

bool Reply::is_array() const noexcept { return part_ != nullptr && part_->type == REDIS_REPLY_ARRAY; }

std::size_t Reply::size() const noexcept { return is_array() ? static_cast<std::size_t>(part_->elements) : 0; }

Reply Reply::operator[](std::size_t at) const noexcept { return at < size() ? Reply(owner_, part_->element[at]) : Reply(); }

ReplyReader::ReplyReader(std::size_t most) : reader_(redisReaderCreateWithFunctions(&functions())), most_(most) {
  if (reader_ == nullptr) throw std::bad_alloc();
  reader_->privdata = &items_;
}

ReplyReader::~ReplyReader() { redisReaderFree(reader_); }

bool ReplyReader::feed(std::span<char const> bytes) noexcept {
  if (broken_) return false;
  unfinished_ += bytes.size();  // hiredis lets go of the bytes of what it has read of an array, not of what they became
  broken_ = unfinished_ > most_ || redisReaderFeed(reader_, bytes.data(), bytes.size()) != REDIS_OK;
  return !broken_;
}

std::optional<Reply> ReplyReader::next() {
  void* reply = nullptr;
  if (broken_) return std::nullopt;
  if (redisReaderGetReply(reader_, &reply) != REDIS_OK) broken_ = true;
  if (reply == nullptr) return std::nullopt;
  unfinished_ = reader_->len - reader_->pos;
  items_ = 0;
  return Reply(static_cast<redisReply*>(reply));
}

Commands& Commands::add(std::span<std::string_view const> words) {
  std::vector<char const*> texts;
  std::vector<std::size_t> sizes;
  for (auto const word : words) {
    texts.push_back(word.data() != nullptr ? word.data() : "");
    sizes.push_back(word.size());
  }
  char* formatted = nullptr;
  auto const size = redisFormatCommandArgv(&formatted, static_cast<int>(words.size()), texts.data(), sizes.data());
  if (size < 0) throw std::bad_alloc();
  std::unique_ptr<char, void (*)(void*)> const owned(formatted,
                                                     [](void* bytes) { redisFreeCommand(static_cast<char*>(bytes)); });
  bytes.append(formatted, static_cast<std::size_t>(size));
  ++replies;
  return *this;
}

}  // namespace weir::store
