// What coli doctor has to say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace colibri {

enum class Severity : uint8_t { ok, note, warning, error };

struct Finding {
    std::string id;
    Severity severity = Severity::ok;
    std::string summary;  // what was found
    std::string reason;   // why it matters; empty when all is well
    std::string remedy;   // what to do
};

class Findings {
public:
    void add(Finding finding) { list_.push_back(std::move(finding)); }
    void ok(std::string id, std::string summary) {
        add({.id = std::move(id), .severity = Severity::ok, .summary = std::move(summary)});
    }
    [[nodiscard]] const std::vector<Finding>& list() const { return list_; }
    [[nodiscard]] Severity worst() const {
        Severity worst = Severity::ok;
        for (const Finding& finding : list_) worst = std::max(worst, finding.severity);
        return worst;
    }

private:
    std::vector<Finding> list_;
};

}  // namespace colibri
