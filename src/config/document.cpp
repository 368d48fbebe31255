#include "document.hpp"

#include <sstream>
#include <stdexcept>
#include <unordered_map>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

namespace weir::config {
namespace {

// Thrown through yaml-cpp, which has no other way to be stopped.
struct OutOfBounds : std::runtime_error {
  OutOfBounds(Place where, std::string sentence) : std::runtime_error(sentence), place(std::move(where)) {}
  Place place;
};

class Builder final : public YAML::EventHandler {
 public:
  Builder(std::shared_ptr<std::string const> source, Places places, std::string path, Mistakes& mistakes)
      : source_(std::move(source)), places_(places), path_(std::move(path)), mistakes_(mistakes) {}

  Item take() { return std::move(root_); }
  int documents() const noexcept { return documents_; }
  Place place(YAML::Mark const& mark) const {
    if (places_ == Places::source_only || mark.is_null()) return {source_, 0, 0};
    return {source_, mark.line + 1, mark.column + 1};
  }

  void OnDocumentStart(YAML::Mark const& mark) override {
    if (++documents_ == 2) mistakes_.add(place(mark), path_, "a second document; one file holds one configuration");
  }
  void OnDocumentEnd() override {}

  void OnNull(YAML::Mark const& mark, YAML::anchor_t anchor) override {
    refuse(mark, "", anchor);
    deliver(at(mark, Item()));
  }
  void OnAlias(YAML::Mark const& mark, YAML::anchor_t) override {
    mistakes_.add(place(mark), here(), "aliases are not allowed; write the value");
    deliver(at(mark, Item()));
  }
  void OnScalar(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor, std::string const& value) override {
    refuse(mark, tag, anchor);
    deliver(at(mark, Item::scalar(value, tag == "?" ? Item::Form::word : Item::Form::text)));
  }
  void OnSequenceStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, Item::list());
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, Item::map());
  }
  void OnMapEnd() override { end(); }

 private:
  struct Frame {
    Item item;
    bool expects_key = false;
    bool keeps_value = false;  // false under a key that is a mistake: its value is read and dropped
    MapKey key;
    std::unordered_map<std::string, int> seen;  // key to line
  };

  Item at(YAML::Mark const& mark, Item item) {
    if (++values_ > max_values) throw OutOfBounds(place(mark), "more than " + std::to_string(max_values) + " values");
    item.place = place(mark);
    return item;
  }

  void refuse(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor) {
    if (anchor != 0) mistakes_.add(place(mark), here(), "anchors are not allowed");
    if (tag != "" && tag != "?" && tag != "!")
      mistakes_.add(place(mark), here(), "tags such as " + ticked(tag) + " are not allowed");
  }

  void start(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor, Item item) {
    refuse(mark, tag, anchor);
    if (stack_.size() >= max_depth)
      throw OutOfBounds(place(mark), "nested deeper than " + std::to_string(max_depth) + " levels");
    Frame frame;
    frame.item = at(mark, std::move(item));
    frame.expects_key = frame.item.is_map();
    stack_.push_back(std::move(frame));
  }

  void end() {
    Item item = std::move(stack_.back().item);
    stack_.pop_back();
    deliver(std::move(item));
  }

  void deliver(Item item) {
    if (stack_.empty()) {
      if (documents_ <= 1) root_ = std::move(item);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.item.is_list()) {
      frame.item.items.push_back(std::move(item));
    } else if (frame.expects_key) {
      take_key(frame, std::move(item));
    } else {
      frame.expects_key = true;
      if (!frame.keeps_value) return;
      if (item.is_null()) item.place = frame.key.place;  // yaml-cpp's mark of "nothing" is that of what comes next
      frame.item.keys.push_back(std::move(frame.key));
      frame.item.items.push_back(std::move(item));
    }
  }

  void take_key(Frame& frame, Item item) {
    frame.expects_key = false;
    frame.keeps_value = false;
    if (!item.is_scalar()) {
      mistakes_.add(item.place, here(), "a key must be text");
    } else if (item.is_word("<<")) {
      mistakes_.add(item.place, here(), "merge keys are not allowed");
    } else if (auto const [first, is_new] = frame.seen.try_emplace(item.text, item.place.line); !is_new) {
      std::string const where = first->second > 0 ? " (first in line " + std::to_string(first->second) + ")" : "";
      mistakes_.add(item.place, join(here(), item.text), "repeated key" + where);
    } else {
      frame.keeps_value = true;
      frame.key = {std::move(item.text), item.place};
    }
  }

  static std::string join(std::string const& path, std::string const& key) { return path.empty() ? key : path + "." + key; }

  // The path of the value that is being read.
  std::string here() const {
    std::string path = path_;
    for (Frame const& frame : stack_) {
      if (frame.item.is_list()) {
        path += "[" + std::to_string(frame.item.items.size()) + "]";
      } else if (!frame.expects_key && frame.keeps_value) {
        path = join(path, frame.key.text);
      }
    }
    return path;
  }

  std::shared_ptr<std::string const> source_;
  Places places_;
  std::string path_;
  Mistakes& mistakes_;
  std::vector<Frame> stack_;
  Item root_;
  int documents_ = 0;
  std::size_t values_ = 0;
};

// Length of the UTF-8 sequence at the front of `text` (RFC 3629: no surrogates, shortest form); 0: there is none.
std::size_t utf8_length(std::string_view text) noexcept {
  auto const byte = [&](std::size_t i) -> unsigned { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  auto const follows = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  unsigned const first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    bool const in_range = !(first == 0xe0 && byte(1) < 0xa0) && !(first == 0xed && byte(1) > 0x9f);
    return in_range && follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    bool const in_range = !(first == 0xf0 && byte(1) < 0x90) && !(first == 0xf4 && byte(1) > 0x8f);
    return in_range && follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool check_text(std::string_view text, std::shared_ptr<std::string const> source, Places places, std::string const& path,
                Mistakes& mistakes) {
  if (text.size() > max_text) {
    mistakes.add({source, 0, 0}, path, "larger than 1 MiB");
    return false;
  }
  int line = 1, column = 1;
  while (!text.empty()) {
    auto const first = static_cast<unsigned char>(text.front());
    std::size_t const length = utf8_length(text);
    bool const control = (first < 0x20 && first != '\t' && first != '\n' && first != '\r') || first == 0x7f;
    if (length == 0 || control) {
      Place const place = places == Places::lines ? Place{source, line, column} : Place{source, 0, 0};
      mistakes.add(place, path, length == 0 ? "not UTF-8" : "a control character");
      return false;
    }
    ++column;
    if (first == '\n') {
      ++line;
      column = 1;
    }
    text.remove_prefix(length);
  }
  return true;
}

Item parse_document(std::string const& text, std::shared_ptr<std::string const> source, Places places,
                    std::string const& path, Mistakes& mistakes) {
  if (!check_text(text, source, places, path, mistakes)) return Item();
  Builder builder(source, places, path, mistakes);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (builder.documents() < 2 && parser.HandleNextDocument(builder)) {}
    return builder.take();
  } catch (OutOfBounds const& e) { mistakes.add(e.place, path, e.what()); } catch (YAML::Exception const& e) {
    mistakes.add(builder.place(e.mark), path, e.msg);
  }
  return Item();
}

}  // namespace weir::config
