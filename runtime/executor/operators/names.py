"""The names of all operators, as they are printed; TVM's where TVM has the operator.

``runtime.executor.operators.table`` says what each of them takes, returns and means.
Tests: tests/vta/relay/ops/test_call.py.
"""

from enum import StrEnum

__all__ = ["Op"]


class Op(StrEnum):
    """An operator."""

    # element by element
    ABS = "abs"
    ACOS = "acos"
    ASIN = "asin"
    ATAN = "atan"
    CEIL = "ceil"
    COPY = "copy"
    COS = "cos"
    COSH = "cosh"
    ERF = "erf"
    EXP = "exp"
    FLOOR = "floor"
    LOG = "log"
    LOGICAL_NOT = "logical_not"
    NEGATIVE = "negative"
    RELU = "nn.relu"
    ROUND = "round"
    RSQRT = "rsqrt"
    SIGMOID = "sigmoid"
    SIGN = "sign"
    SIN = "sin"
    SINH = "sinh"
    SQRT = "sqrt"
    TAN = "tan"
    TANH = "tanh"
    CAST = "cast"
    CLIP = "clip"
    ELU = "nn.elu"
    HARD_SIGMOID = "hard_sigmoid"
    HARD_SWISH = "hard_swish"
    LEAKY_RELU = "nn.leaky_relu"

    # with broadcasting
    ADD = "add"
    SUBTRACT = "subtract"
    MULTIPLY = "multiply"
    DIVIDE = "divide"
    FLOOR_MOD = "floor_mod"
    POWER = "power"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    LEFT_SHIFT = "left_shift"
    RIGHT_SHIFT = "right_shift"
    EQUAL = "equal"
    NOT_EQUAL = "not_equal"
    LESS = "less"
    LESS_EQUAL = "less_equal"
    GREATER = "greater"
    GREATER_EQUAL = "greater_equal"
    LOGICAL_AND = "logical_and"
    LOGICAL_OR = "logical_or"
    LOGICAL_XOR = "logical_xor"
    WHERE = "where"
    BIAS_ADD = "nn.bias_add"
    PRELU = "nn.prelu"
    BROADCAST_TO = "broadcast_to"

    # layers with weights
    CONV2D = "nn.conv2d"
    CONV2D_TRANSPOSE = "nn.conv2d_transpose"
    DENSE = "nn.dense"
    MATMUL = "nn.matmul"
    BATCH_MATMUL = "nn.batch_matmul"

    # windows and images
    MAX_POOL2D = "nn.max_pool2d"
    AVG_POOL2D = "nn.avg_pool2d"
    GLOBAL_MAX_POOL2D = "nn.global_max_pool2d"
    GLOBAL_AVG_POOL2D = "nn.global_avg_pool2d"
    PAD = "nn.pad"
    RESIZE2D = "image.resize2d"
    UPSAMPLING = "nn.upsampling"
    DEPTH_TO_SPACE = "nn.depth_to_space"
    SPACE_TO_DEPTH = "nn.space_to_depth"

    # normalisation
    SOFTMAX = "nn.softmax"
    LOG_SOFTMAX = "nn.log_softmax"
    BATCH_NORM = "nn.batch_norm"
    LAYER_NORM = "nn.layer_norm"
    INSTANCE_NORM = "nn.instance_norm"
    LRN = "nn.lrn"
    DROPOUT = "nn.dropout"

    # other places of the same elements
    CONCATENATE = "concatenate"
    SPLIT = "split"
    STRIDED_SLICE = "strided_slice"
    TAKE = "take"
    GATHER = "gather"
    RESHAPE = "reshape"
    TRANSPOSE = "transpose"
    SQUEEZE = "squeeze"
    EXPAND_DIMS = "expand_dims"
    BATCH_FLATTEN = "nn.batch_flatten"
    TILE = "tile"
    ONE_HOT = "one_hot"
    SHAPE_OF = "shape_of"
    LAYOUT_TRANSFORM = "layout_transform"
    STOP_FUSION = "annotation.stop_fusion"

    # along axes
    SUM = "sum"
    MEAN = "mean"
    MAX = "max"
    MIN = "min"
    PROD = "prod"
    ALL = "all"
    ANY = "any"
    ARGMAX = "argmax"
    ARGMIN = "argmin"

    # integers that stand for real numbers
    QUANTIZE = "qnn.quantize"
    DEQUANTIZE = "qnn.dequantize"
    RESCALE = "qnn.rescale"
    QNN_CONV2D = "qnn.conv2d"
    QNN_CONV2D_TRANSPOSE = "qnn.conv2d_transpose"
    QNN_DENSE = "qnn.dense"
    QNN_BATCH_MATMUL = "qnn.batch_matmul"
    QNN_ADD = "qnn.add"
    QNN_MUL = "qnn.mul"
    QNN_SUM_POOL2D = "qnn.sum_pool2d"
    QNN_LOOKUP = "qnn.lookup"

    # not of this toolchain
    ONNX_NODE = "onnx.node"
