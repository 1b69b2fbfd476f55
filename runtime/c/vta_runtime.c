/* See vta_runtime.h. */
#include "vta_runtime.h"

#include <string.h>

/* Offsets of the control registers, and the version of their map. */
enum {
    REG_LAUNCH = 0x00,
    REG_STATUS = 0x04,
    REG_ERROR_PLACE = 0x08,
    REG_VERSION = 0x0c,
    REG_INSN_ADDRESS = 0x10,
    REG_INSN_COUNT = 0x18,
    REG_UOP_BASE = 0x20,
    REG_INP_BASE = 0x28,
    REG_WGT_BASE = 0x30,
    REG_ACC_BASE = 0x38,
    REG_OUT_BASE = 0x40,
    REG_ABORT = 0x48,
    REG_CYCLES = 0x50,
    REG_IRQ_ENABLE = 0x70,
    REG_IRQ_PENDING = 0x74,
    REG_VTA_DIGEST = 0x80
};

#define MAP_VERSION 2u

#define STATUS_BUSY 1u
#define STATUS_DONE 2u
#define STATUS_ERROR(status) (((status) >> 8) & 0xffu)

/* Looks at the status while the accelerator lets memory end what was begun, after which it counts as stuck. */
#define ENDING_POLLS 1000000u

static uint32_t get(struct vta_board *board, uint32_t offset)
{
    return board->read(board->context, offset);
}

static void put(struct vta_board *board, uint32_t offset, uint32_t value)
{
    board->write(board->context, offset, value);
}

static uint64_t get64(struct vta_board *board, uint32_t offset)
{
    const uint32_t low = get(board, offset);
    return (uint64_t)get(board, offset + 4) << 32 | low;
}

static void put64(struct vta_board *board, uint32_t offset, uint64_t value)
{
    put(board, offset, (uint32_t)value);
    put(board, offset + 4, (uint32_t)(value >> 32));
}

void vta_flush(struct vta_board *board, size_t offset, size_t bytes)
{
    if (board->flush && bytes)
        board->flush(board->context, offset, bytes);
}

void vta_invalidate(struct vta_board *board, size_t offset, size_t bytes)
{
    if (board->invalidate && bytes)
        board->invalidate(board->context, offset, bytes);
}

int vta_load(struct vta_board *board, const struct vta_image *image)
{
    board->image = NULL;
    board->error = 0;
    board->place = 0;
    board->cycles = 0;
    board->total_cycles = 0;
    if (get(board, REG_VERSION) != MAP_VERSION)
        return VTA_NO_ACCELERATOR;
    if (get64(board, REG_VTA_DIGEST) != image->digest)
        return VTA_OTHER_HARDWARE;
    if (board->address % image->alignment)
        return VTA_MISALIGNED;
    if (board->memory_bytes < image->memory_bytes)
        return VTA_SMALL_MEMORY;
    memcpy(board->memory, image->data, image->data_bytes);
    vta_flush(board, 0, image->data_bytes);
    board->image = image;
    return VTA_OK;
}

/* Waits until the accelerator is idle; returns its status, or one that is busy after so many looks (0: no end). */
static uint32_t settled(struct vta_board *board, uint32_t polls)
{
    uint32_t looks = 0;
    uint32_t status;
    while ((status = get(board, REG_STATUS)) & STATUS_BUSY) {
        if (polls && ++looks >= polls)
            break;
        if (board->wait)
            board->wait(board->context);
    }
    return status;
}

/* Gives a launch up; what memory has begun ends first. */
static int given_up(struct vta_board *board)
{
    put(board, REG_ABORT, 1);
    return settled(board, ENDING_POLLS) & STATUS_BUSY ? VTA_STUCK : VTA_TIMEOUT;
}

int vta_launch(struct vta_board *board, const struct vta_image *image, size_t offset, uint32_t count)
{
    static const uint32_t bases[] = {REG_UOP_BASE, REG_INP_BASE, REG_WGT_BASE, REG_ACC_BASE, REG_OUT_BASE};
    uint32_t status;
    int given;
    size_t i;

    if (board->image != image)
        return VTA_NOT_LOADED;
    for (i = 0; i < sizeof bases / sizeof *bases; ++i)
        put64(board, bases[i], board->address);
    put64(board, REG_INSN_ADDRESS, board->address + offset);
    put(board, REG_INSN_COUNT, count);
    put(board, REG_IRQ_PENDING, 1);
    put(board, REG_IRQ_ENABLE, board->wait != NULL);
    put(board, REG_LAUNCH, 1);
    status = settled(board, board->polls);
    given = status & STATUS_BUSY ? given_up(board) : VTA_OK;
    put(board, REG_IRQ_PENDING, 1);
    status = get(board, REG_STATUS);
    board->error = STATUS_ERROR(status);
    board->place = get(board, REG_ERROR_PLACE);
    board->cycles = get64(board, REG_CYCLES);
    board->total_cycles += board->cycles;
    if (given != VTA_OK)
        return given;
    return status & STATUS_DONE && !board->error ? VTA_OK : VTA_LAUNCH_FAILED;
}

const char *vta_status_text(int status)
{
    switch (status) {
    case VTA_OK:
        return "well";
    case VTA_NO_ACCELERATOR:
        return "the registers are not those of an accelerator of this version";
    case VTA_OTHER_HARDWARE:
        return "the accelerator has another configuration than the image was made for";
    case VTA_MISALIGNED:
        return "the memory does not begin at a multiple of the image's alignment";
    case VTA_SMALL_MEMORY:
        return "the image needs more memory than there is";
    case VTA_NOT_LOADED:
        return "the image is not in the memory: vta_load it first";
    case VTA_TIMEOUT:
        return "the launch took too long and was given up";
    case VTA_STUCK:
        return "the accelerator does not become idle: reset it together with its memory";
    case VTA_LAUNCH_FAILED:
        return "the accelerator ended with an error";
    default:
        return "no status of this runtime";
    }
}
