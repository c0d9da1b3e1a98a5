#include "bench/cases/table.hpp"

#include "bench/cases/baselines.hpp"

#include <cstring>

namespace measure {

TableBench::TableBench(BenchDevice* bench, const ModelShape& model, uint32_t rows)
    : bench_(bench), frequencies_(modelFrequencies(model)) {
    RopeTableDescription d = {};
    d.frequencies.values = frequencies_.data();
    d.frequencies.count = static_cast<uint32_t>(frequencies_.size());
    d.tokens = rows;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    mustPlan(ropePlanTable(&d, &bench->limits(), &plan_), plan_);
    bench->mustFit(2 * bytes());
    words_ = bench->makeFrequencies(d.frequencies);
    rows_ = bench->make(bytes());
    filled_ = bench->make(bytes());
    slots_.slots[ROPE_SLOT_FREQUENCIES] = words_.slot();
    slots_.slots[ROPE_SLOT_ROWS] = rows_.slot();
    filled_slots_.slots[ROPE_SLOT_Q_OUT] = filled_.slot();
    bench->run(plan_, slots_);
    verify(rows);
}

void TableBench::verify(uint32_t rows) {
    const size_t pairs = frequencies_.size();
    const std::vector<uint8_t> read = bench_->read(words_, 0, words_.size());
    std::vector<uint32_t> words(read.size() / 4);
    std::memcpy(words.data(), read.data(), read.size());
    for (const uint32_t row : {0u, rows / 2, rows - 1}) {
        const std::vector<uint8_t> got = bench_->read(rows_, row * pairs * 8, pairs * 8);
        std::vector<float> wanted(2 * pairs);
        for (size_t pair = 0; pair < pairs; ++pair) {
            float cos_sin[2];
            ropeShaderAngle(ROPE_WHOLE_POSITION(row), &words[4 * pair], 1, ROPE_ANGLE_EXACT, cos_sin);
            wanted[pair] = cos_sin[0];
            wanted[pairs + pair] = cos_sin[1];
        }
        if (std::memcmp(wanted.data(), got.data(), got.size()) != 0)
            throw WrongResult("row " + std::to_string(row) + " of the table has other bits than the CPU's");
    }
}

std::vector<Contestant> TableBench::contestants() {
    tables_ = std::make_unique<BufferCopies>(bench_, std::vector<const rope::Buffer*>{&rows_});
    fills_ = std::make_unique<BufferCopies>(bench_, std::vector<const rope::Buffer*>{&filled_});
    std::vector<Contestant> all = {{"table", tables_->work({plan_}, {slots_})},
                                   {"FillBuffer", fills_->fillCommand(filled_slots_, bytes())}};
    if (tables_->fitsCache()) all.push_back({kWarm, tables_->workOnOneSet({plan_}, {slots_})});
    all.push_back({kEmptyDispatch, untouching(tables_->work({emptyPlan(plan_)}, {slots_}))});
    return all;
}

} // namespace measure
