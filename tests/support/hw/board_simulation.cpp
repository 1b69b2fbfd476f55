// A simulated system with its pins as queues of bytes: what tests/support/hw/board_simulation.py loads.
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

namespace {

struct Board {
    VerilatedContext context;
    std::unique_ptr<Vtop> top{new Vtop{&context}};
    std::deque<std::vector<uint8_t>> frames_in, frames_out;
    std::vector<uint8_t> sending;  // the frame on its way out
    size_t place = 0;              // in the frame on its way in
    int gap = 0;
    std::deque<uint8_t> serial_in, serial_out;
    uint64_t cycles = 0;

    void cycle() {
        if (frames_in.empty() || gap > 0) {
            top->eth_sink_valid = 0;
            if (gap > 0) gap--;
        } else {
            const auto &frame = frames_in.front();
            top->eth_sink_valid = 1;
            top->eth_sink_data = frame[place++];
            if (place == frame.size()) {
                frames_in.pop_front();
                place = 0;
                gap = 12;
            }
        }
        top->serial_sink_valid = !serial_in.empty();
        if (!serial_in.empty()) top->serial_sink_data = serial_in.front();
        top->serial_source_ready = 1;
        top->sys_clk = 0;
        top->eval();
        const bool taken = top->serial_sink_valid && top->serial_sink_ready;
        if (top->serial_source_valid) serial_out.push_back(top->serial_source_data);
        if (top->eth_source_valid) {
            sending.push_back(top->eth_source_data);
        } else if (!sending.empty()) {
            frames_out.push_back(std::move(sending));
            sending.clear();
        }
        top->sys_clk = 1;
        top->eval();
        if (taken) serial_in.pop_front();
        cycles++;
    }
};

}  // namespace

extern "C" {

void *board_new() {
    auto *board = new Board;
    board->top->sys_rst = 1;
    for (int n = 0; n < 16; n++) board->cycle();
    board->top->sys_rst = 0;
    for (int n = 0; n < 100; n++) board->cycle();  // the system's own reset is longer, and bytes in it are lost
    board->cycles = 0;
    return board;
}

void board_delete(void *handle) { delete static_cast<Board *>(handle); }

uint64_t board_cycles(void *handle) { return static_cast<Board *>(handle)->cycles; }

// Run until something has come out, a serial byte or a frame, or for `most` cycles.
void board_run(void *handle, uint64_t most) {
    auto *board = static_cast<Board *>(handle);
    for (uint64_t n = 0; n < most && board->frames_out.empty() && board->serial_out.empty(); n++) board->cycle();
}

void board_send_frame(void *handle, const uint8_t *data, size_t count) {
    static_cast<Board *>(handle)->frames_in.emplace_back(data, data + count);
}

void board_send_serial(void *handle, const uint8_t *data, size_t count) {
    auto &queue = static_cast<Board *>(handle)->serial_in;
    queue.insert(queue.end(), data, data + count);
}

// Return the bytes of the next frame, or 0 if there is none; `data` has room for 2048.
size_t board_take_frame(void *handle, uint8_t *data) {
    auto &queue = static_cast<Board *>(handle)->frames_out;
    if (queue.empty()) return 0;
    const auto frame = std::move(queue.front());
    queue.pop_front();
    const size_t count = frame.size() < 2048 ? frame.size() : 2048;
    std::memcpy(data, frame.data(), count);
    return count;
}

size_t board_take_serial(void *handle, uint8_t *data, size_t most) {
    auto &queue = static_cast<Board *>(handle)->serial_out;
    size_t count = 0;
    for (; count < most && !queue.empty(); count++) {
        data[count] = queue.front();
        queue.pop_front();
    }
    return count;
}

}  // extern "C"
