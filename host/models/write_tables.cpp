// Writes the tables of models.cpp: vkrope-write-tables FOLDER TABLES. FOLDER has text.json, vision.json, diffusers.json
// and gguf.json. What does not fit records.def is an error with its file, line and key.
#include "models/models.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using Json = nlohmann::json;

struct Field {
    std::string kind, key, otherwise;
};

#define ROPE_FIELD(kind, key, otherwise) {#kind, #key, #otherwise},
#define ROPE_TEXT ROPE_FIELD
const std::vector<Field> kText = {
#include "models/records.def"
};
#define ROPE_VISION ROPE_FIELD
const std::vector<Field> kVision = {
#include "models/records.def"
};
#define ROPE_DIFFUSERS ROPE_FIELD
const std::vector<Field> kDiffusers = {
#include "models/records.def"
};
#define ROPE_GGUF ROPE_FIELD
const std::vector<Field> kGguf = {
#include "models/records.def"
};
#define ROPE_NEEDS(key, other) {#key, #other},
const std::vector<std::pair<std::string, std::string>> kNeeds = {
#include "models/records.def"
};
#define ROPE_CHOICE(name, ...) {#name, #__VA_ARGS__},
const std::map<std::string, std::string> kChoices = {
#include "models/records.def"
};

std::string quoted(const std::string& text) { return Json(text).dump(); }

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

// Writes the tables of one file, and before each table the lists that its rows name.
class Writer {
  public:
    Writer(const std::string& folder, const char* name, const std::set<std::string>& sections)
        : path_(folder + "/" + name) {
        std::ifstream in(path_, std::ios::binary);
        text_.assign(std::istreambuf_iterator<char>(in), {});
        if (!in) throw path_ + ": it cannot be read";
        std::vector<std::set<std::string>> open; // the keys of the objects that are open
        const auto keepKey = [&](int, Json::parse_event_t event, Json& value) {
            if (event == Json::parse_event_t::object_start) open.emplace_back();
            if (event == Json::parse_event_t::object_end) open.pop_back();
            if (event == Json::parse_event_t::key && !open.back().insert(value).second)
                fail({value, value}, "is there twice");
            return true;
        };
        try {
            json_ = Json::parse(text_, keepKey);
        } catch (const Json::exception& error) {
            throw path_ + ": it is not JSON: " + error.what();
        }
        for (const std::string& section : sections) {
            if (!json_.contains(section)) fail({section}, "is missing");
        }
        for (const auto& item : json_.items()) {
            if (sections.count(item.key()) == 0) fail({item.key()}, "is not one of the file's keys");
            if (item.key() != "from" && !item.value().is_structured()) fail({item.key()}, "is no object");
        }
    }

    std::string tables;

    void records(const std::string& type, const std::string& name, const std::vector<Field>& fields) {
        std::string rows;
        for (const auto& item : json_["types"].items()) {
            const Json record = merged(item.key(), fields, {});
            where_ = {"types", item.key()};
            for (const auto& needs : kNeeds) {
                if (record.contains(needs.first) && !record.contains(needs.second))
                    fail("has " + needs.first + ", which means nothing without " + needs.second);
            }
            if (item.key().size() >= sizeof(rope::Name)) fail("is too long a name for Name in models.hpp");
            std::vector<std::string> row = {quoted(item.key())};
            for (const Field& field : fields) {
                std::string owner = item.key(); // of the key, which another record may have
                while (!json_["types"][owner].contains(field.key) && json_["types"][owner].contains("like"))
                    owner = json_["types"][owner]["like"];
                where_ = {"types", owner, field.key};
                row.push_back(record.contains(field.key) ? value(field, record[field.key]) : field.otherwise);
            }
            rows += "    {" + joined(row) + "},\n";
        }
        tables += "constexpr std::initializer_list<" + type + "> " + name + " = {\n" + rows + "};\n";
    }

    void texts(const std::string& name, const char* section) {
        tables += "constexpr NameAndText " + name + "[] = {\n";
        for (const auto& item : json_[section].items()) {
            where_ = {section, item.key()};
            tables += "    {" + quoted(item.key()) + ", " + text(item.value()) + "},\n";
        }
        tables += "};\n";
    }

    void words(const std::string& name, const std::string& section, const std::string& key) {
        where_ = {section, key};
        const std::string list = listed({"Words", "", ""}, json_[section].value(key, Json()));
        tables += "constexpr Words " + name + " = " + list + ";\n";
    }

    // Groups of types that have the same thing in the place of a rotation become texts by type.
    void spreadGroups(const char* section) {
        Json spread = Json::object();
        for (const auto& group : json_[section].items()) {
            for (const Json& type : group.value()) {
                where_ = {section, type.dump()};
                text(type);
                if (spread.contains(std::string(type))) fail("is there twice");
                spread[std::string(type)] = group.key();
            }
        }
        json_[section] = spread;
    }

  private:
    std::string path_, text_;
    Json json_;
    std::vector<std::string> where_;           // the keys that lead down to what is written
    std::map<std::string, std::string> lists_; // the names of arrays by what they hold

    [[noreturn]] void fail(const std::string& why) const { fail(where_, why); }

    // Each of the keys stands in the file behind the one before it.
    [[noreturn]] void fail(const std::vector<std::string>& keys, const std::string& why) const {
        size_t at = 0, next = 0;
        for (const std::string& key : keys) {
            const size_t found = text_.find(key[0] == '"' ? key : quoted(key) + ":", next);
            if (found != text_.npos) at = found;
            next = at + 1;
        }
        const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        throw path_ + ":" + std::to_string(line) + ": " + keys.back() + " " + why;
    }

    // The record with what it takes of those that it is like.
    Json merged(const std::string& name, const std::vector<Field>& fields, std::set<std::string> kin) {
        const Json& own = json_["types"][name];
        where_ = {"types", name};
        if (!own.is_object()) fail("is no object");
        Json record = Json::object();
        if (own.contains("like")) {
            where_.emplace_back("like");
            if (!own["like"].is_string() || !json_["types"].contains(own["like"]))
                fail("is " + own["like"].dump() + ", which is no record of the file");
            if (!kin.insert(name).second) fail("is " + own["like"].dump() + ", which is like this record");
            record = merged(own["like"], fields, kin);
        }
        record["from"] = json_["from"];
        for (const auto& item : own.items()) {
            where_ = {"types", name, item.key()};
            std::vector<std::string> known = {"like"};
            for (const Field& field : fields) known.push_back(field.key);
            if (std::find(known.begin(), known.end(), item.key()) == known.end())
                fail("is not one of the keys that a record has: " + joined(known));
            if (item.key() != "like") record[item.key()] = item.value();
        }
        return record;
    }

    std::string text(const Json& json) const {
        if (!json.is_string() || json.dump().size() == 2) fail("is " + json.dump() + "; it must be a text");
        return json.dump();
    }

    std::string value(const Field& field, const Json& json) {
        const std::string& kind = field.kind;
        const auto must = [&](bool is, const char* what) {
            if (!is) fail("is " + json.dump() + "; it must be " + what);
            return json.dump();
        };
        if (kind == "Flag") return must(json.is_boolean(), "true or false");
        if (kind == "Number") return must(json.is_number(), "a number");
        if (kind == "Count") return must(json.is_number_unsigned() && json <= 0x7FFFFFFF, "a whole number");
        if (kind == "Text") return text(json);
        if (kind == "Origin") return text(json) == quoted("unchecked") ? "Origin::remembered" : "Origin::read";
        if (kind == "Object") return quoted(must(json.is_object(), "an object"));
        if (kind.rfind("Choice_", 0) != 0) return listed(field, json);
        const std::string choice = kind.substr(7), words = ", " + kChoices.at(choice) + ",";
        if (words.find(", " + Json::parse(text(json)).get<std::string>() + ",") == words.npos)
            fail("is " + json.dump() + "; it may be " + kChoices.at(choice));
        return choice + "::" + json.get<std::string>();
    }

    // An array of its own, or one that was written before.
    std::string listed(const Field& field, const Json& json) {
        std::vector<std::string> items;
        if (!json.is_array()) fail("is " + json.dump() + "; it must be a list");
        for (const Json& item : json) {
            if (field.kind == "Counts") items.push_back(value({"Count", "", ""}, item));
            if (field.kind == "Words") items.push_back(text(item));
            if (field.kind == "Remarks") items.push_back(remark(text(item), item));
        }
        if (items.empty()) return "{}";
        std::string& name = lists_[field.kind + joined(items)];
        if (name.empty()) {
            static int written = 0;
            name = "kList" + std::to_string(written++);
            tables += "constexpr " + field.kind + " " + name + " = {" + joined(items) + "};\n";
        }
        return name;
    }

    std::string remark(const std::string& shown, const std::string& name) {
        const Json& all = json_["remarks"];
        if (!all.contains(name)) fail("has " + shown + ", which is none of the file's remarks");
        const Json& json = all[name];
        const std::vector<std::string> asked = where_;
        where_ = {"remarks", name};
        const bool refuses = json.contains("refuse");
        const std::string when = json.value("when", refuses ? "equal" : "always");
        size_t known = json.contains(refuses ? "refuse" : "say") ? 1 : 0;
        for (const char* key : {"key", "when", "value"}) known += json.contains(key) ? 1 : 0;
        const bool has_word = when == "always" || when == "present" || when == "absent" || when == "missing";
        if (known != json.size() || (!refuses && !has_word) || json.contains("key") != (when != "always") ||
            json.contains("value") != refuses)
            fail("must have a `say`, and may have a `key` `when` it is present, absent, or missing beside a rule; or a "
                 "`key`, a `value` and a "
                 "`refuse`");
        const std::string sentence = text(json.value(refuses ? "refuse" : "say", Json()));
        where_ = asked;
        return "{" + quoted(json.value("key", "")) + ", Remark::When::" + when + ", " +
               (refuses ? quoted(json["value"].dump()) : "nullptr") + ", " + sentence + "}";
    }
};

std::string writeTables(const std::string& folder) {
    Writer text(folder, "text.json", {"from", "remarks", "types", "instead", "never", "wholes", "layer_types"});
    text.records("Model", "kModels", kText);
    text.spreadGroups("instead");
    text.texts("kInstead", "instead");
    text.texts("kNever", "never");
    text.texts("kWholes", "wholes");
    text.words("kLayerTypeNames", "layer_types", "names");
    text.words("kStillLayerTypes", "layer_types", "still");
    Writer vision(folder, "vision.json", {"from", "types"});
    vision.records("Tower", "kTowers", kVision);
    Writer diffusers(folder, "diffusers.json", {"from", "types", "never"});
    diffusers.records("DiffusersModel", "kDiffusersModels", kDiffusers);
    diffusers.texts("kNeverOfDiffusers", "never");
    Writer gguf(folder, "gguf.json", {"from", "types"});
    gguf.records("Architecture", "kArchitectures", kGguf);
    return text.tables + vision.tables + diffusers.tables + gguf.tables;
}

} // namespace

int main(int count, char** arguments) try {
    if (count != 3) throw std::string("usage: vkrope-write-tables FOLDER TABLES");
    const std::string tables = writeTables(arguments[1]);
    std::ofstream out(arguments[2], std::ios::binary);
    out << tables;
    if (!out.flush()) throw std::string(arguments[2]) + ": it cannot be written";
} catch (const std::string& sentence) {
    std::fprintf(stderr, "%s\n", sentence.c_str());
    return 2;
}
