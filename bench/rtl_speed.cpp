// Runs one launch on the Verilated core and reports cycles and seconds: the other side of bench/rtl_speed.py.
//
//   harness IMAGE INSN_ADDRESS INSN_COUNT LATENCY REPEATS
//
// IMAGE is all of DRAM from address 0 on; it is replaced by what the launch left. The memory behaves as that of
// hw/sim/axi/memory.py: one burst a cycle is accepted while 64 are under way, in order, first beat LATENCY cycles
// after the address, write response LATENCY cycles after the last beat.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <fstream>
#include <iterator>
#include <vector>

#include "Vvta_core.h"
#include "verilated.h"

struct Burst {
    uint64_t address, beats, due;
};

struct Beat {
    uint64_t data;
    uint8_t strobe;
};

class Memory {
  public:
    Memory(std::vector<uint8_t> &bytes, uint64_t latency) : bytes(bytes), latency(latency) {}

    // Before the edge of cycle `now`: take the transfers of this cycle. After the edge, `show` sets the next outputs.
    void transfer(Vvta_core &core, uint64_t now) {
        if (core.axi_rvalid && core.axi_rready && ++read_beat == reads.front().beats) {
            reads.pop_front();
            read_beat = 0;
        }
        if (core.axi_bvalid && core.axi_bready) answers.pop_front();
        read_free = !core.axi_rvalid || core.axi_rready;
        answer_free = !core.axi_bvalid || core.axi_bready;
        if (core.axi_arvalid && core.axi_arready)
            reads.push_back({core.axi_araddr, core.axi_arlen + 1u, now + latency});
        if (core.axi_awvalid && core.axi_awready)
            writes.push_back({core.axi_awaddr, core.axi_awlen + 1u, 0});
        if (core.axi_wvalid && core.axi_wready) beats.push_back({core.axi_wdata, core.axi_wstrb});
        while (!writes.empty() && !beats.empty()) {
            store(writes.front().address + 8 * write_beat, beats.front());
            beats.pop_front();
            if (++write_beat == writes.front().beats) {
                answers.push_back(now + latency);
                writes.pop_front();
                write_beat = 0;
            }
        }
    }

    void show(Vvta_core &core, uint64_t now) {
        core.axi_arready = reads.size() < 64;
        core.axi_awready = writes.size() + answers.size() < 64;
        core.axi_wready = beats.size() < 512;
        if (read_free) {
            core.axi_rvalid = !reads.empty() && reads.front().due <= now;
            if (core.axi_rvalid) {
                std::memcpy(&core.axi_rdata, &bytes[reads.front().address + 8 * read_beat], 8);
                core.axi_rlast = read_beat + 1 == reads.front().beats;
            }
        }
        if (answer_free) core.axi_bvalid = !answers.empty() && answers.front() <= now;
    }

  private:
    void store(uint64_t address, const Beat &beat) {
        for (int byte = 0; byte < 8; ++byte)
            if (beat.strobe >> byte & 1) bytes[address + byte] = beat.data >> 8 * byte;
    }

    std::vector<uint8_t> &bytes;
    uint64_t latency, read_beat = 0, write_beat = 0;
    std::deque<Burst> reads, writes;
    std::deque<Beat> beats;
    std::deque<uint64_t> answers;
    bool read_free = true, answer_free = true;
};

static double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

int main(int argc, char **argv) {
    if (argc != 6) {
        std::fprintf(stderr, "usage: %s IMAGE INSN_ADDRESS INSN_COUNT LATENCY REPEATS\n", argv[0]);
        return 2;
    }
    std::ifstream source(argv[1], std::ios::binary);
    std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(source)), std::istreambuf_iterator<char>());
    source.close();
    VerilatedContext context;
    Vvta_core core{&context};
    Memory memory(bytes, std::strtoull(argv[4], nullptr, 0));
    uint64_t now = 0;
    auto step = [&] {
        core.clk = 0;
        core.eval();
        memory.transfer(core, now);
        core.clk = 1;
        core.eval();
        ++now;
        memory.show(core, now);
    };
    core.rst = 1;
    core.control_insn_address = std::strtoull(argv[2], nullptr, 0);
    core.control_insn_count = std::strtoull(argv[3], nullptr, 0);
    core.axi_arready = core.axi_awready = core.axi_wready = 1;
    step();
    core.rst = 0;
    uint64_t stepped = 0, cycles = 0;
    double seconds = 0;
    for (int repeat = 0; repeat < std::atoi(argv[5]); ++repeat) {
        double begin = cpu_seconds();
        uint64_t first = now;
        core.control_launch = 1;
        step();
        core.control_launch = 0;
        do step();
        while (core.control_busy);
        seconds += cpu_seconds() - begin;
        stepped += now - first;
        cycles = core.control_cycles;
        if (!core.control_done) {
            std::fprintf(stderr, "the launch stopped with error %d\n", static_cast<int>(core.control_error));
            return 1;
        }
    }
    std::ofstream(argv[1], std::ios::binary).write(reinterpret_cast<char *>(bytes.data()), bytes.size());
    std::printf("%llu %llu %.6f\n", (unsigned long long)cycles, (unsigned long long)stepped, seconds);
    return 0;
}
