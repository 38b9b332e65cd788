"""Topic 11: questions and answers about colibri."""

from core import turn, build, text_sample

DEFS = []  # (list of questions, answer)


def D(term, answer, *more, short=None):
    """a term to define"""
    t = term
    base = t.split(" ", 1)[1] if t.startswith(("a ", "an ", "the ")) else t
    qs = [
        "What is %s?" % t,
        "Explain %s." % t,
        'What does "%s" mean in colibri?' % base,
        "Tell me about %s." % t,
        'Define "%s".' % base,
        "Can you explain %s?" % t,
        "In colibri, what is %s?" % t,
    ] + list(more)
    DEFS.append((qs, answer))


def Q(answer, *qs):
    DEFS.append((list(qs), answer))


# ---- what colibri is ---------------------------------------------------------
Q(
    "Colibri is an engine that runs big Mixture-of-Experts language models from disk. It keeps the"
    " most used parts in fast memory.",
    "What is colibri?",
    "What is Colibri?",
    "Explain colibri.",
    "Tell me about colibri.",
    "Can you describe colibri?",
    "What is the colibri engine?",
    "colibri?",
    "What is coli?",
    "Describe colibri in two sentences.",
)
Q(
    "Colibri reads the weights of a big model from disk exactly when they are needed. So a model"
    " can run that does not fit into memory.",
    "What does colibri do?",
    "How does colibri work?",
    "What is colibri good for?",
    "What is the idea of colibri?",
    "Explain how colibri works.",
    "What is the main idea of colibri?",
)
Q(
    "Colibri is the Italian word for hummingbird. A hummingbird is tiny but fast, and it lives on"
    " small rations.",
    "Why is it called colibri?",
    "What does the name colibri mean?",
    "Where does the name colibri come from?",
    "What does colibri mean?",
    "Why the name colibri?",
)
Q(
    "Colibri is written in C++.",
    "In which language is colibri written?",
    "What language is colibri written in?",
    "Is colibri written in Python or C++?",
    "Which programming language does colibri use?",
)
Q(
    "No. A GPU is optional. Colibri also runs on the CPU only.",
    "Does colibri need a GPU?",
    "Do I need a GPU for colibri?",
    "Can colibri run without a GPU?",
    "Is a graphics card required?",
    "Can I run colibri on the CPU?",
)
Q(
    "No. When the model is on your disk, colibri works without the internet.",
    "Does colibri need the internet?",
    "Can I use colibri offline?",
    "Does colibri work offline?",
    "Do I need a network connection?",
)
Q(
    "Your text stays on your own machine. The model runs locally.",
    "Where does my data go?",
    "Is my text sent to a server?",
    "Is colibri private?",
    "Does colibri send my data away?",
    "Who can see my chats?",
)
Q(
    "It depends on your disk and memory. A big model is slow when its experts come from disk, and"
    " faster when the cache is warm.",
    "Is colibri fast?",
    "How fast is colibri?",
    "What speed can I expect?",
    "How many tokens per second do I get?",
    "Is colibri slow?",
)
Q(
    "No. Less memory makes colibri slower, but the answers stay the same.",
    "Does less memory change the answers?",
    "Does memory size change the quality?",
    "Will a small machine give worse answers?",
    "What happens if I have little memory?",
    "Does placement change the output?",
)
Q(
    "Yes, if your disk has room for the weights. It can be slow, but it works.",
    "Can I run a very big model at home?",
    "Can I run a 744B model on a laptop?",
    "Can colibri run huge models on a small computer?",
    "Is it possible to run a giant model on my PC?",
)
Q(
    "Because a big model does not fit into the memory of a normal computer, but it fits on a disk.",
    "Why does colibri use the disk?",
    "Why are the weights on disk?",
    "Why not keep everything in memory?",
    "Why read the model from disk?",
)
Q(
    "Only a few experts work for each token, so only a small part of the weights must be read.",
    "Why does streaming from disk work?",
    "How can a huge model run with little memory?",
    "Why is it enough to read a part of the weights?",
    "Why does it not need all weights for each token?",
)
Q(
    "You need the program and a model. The small built-in model works at once, without a download.",
    "What do I need to start with colibri?",
    "What do I need to run colibri?",
    "How do I get started?",
    "How do I start with colibri?",
    "What do I need first?",
)
Q(
    "No. Colibri is for inference only. It runs models, it does not train them.",
    "Can colibri train a model?",
    "Does colibri do training?",
    "Can I train with colibri?",
    "Is colibri for training?",
    "Can I fine-tune a model with colibri?",
)
Q(
    "Colibri never changes the precision of the weights or the choice of the router on its own.",
    "Does colibri change the model to go faster?",
    "Does colibri change precision silently?",
    "Is the model changed by colibri?",
    "Does colibri skip experts to save time?",
)
Q(
    "Colibri is for people who want to run big models on their own computer and measure what"
    " happens.",
    "Who is colibri for?",
    "Who should use colibri?",
    "Who needs colibri?",
)
Q(
    "Use more memory for the cache, put the model on a fast local disk, and let the cache get warm."
    " A mirror on a second disk also helps.",
    "How can I make colibri faster?",
    "How do I speed up colibri?",
    "Colibri is slow. What can I do?",
    "What makes colibri faster?",
    "How do I get more tokens per second?",
    "Give me tips to speed it up.",
)
Q(
    "The first answer is slow because the cache is cold. The experts must be read from disk first.",
    "Why is the first answer slow?",
    "Why does the first token take so long?",
    "Why is colibri slow at the start?",
    "Why is it faster after a while?",
)
Q(
    "Use a local disk. A network drive is too slow for reading experts.",
    "Can I put the model on a network drive?",
    "Does colibri work over a network share?",
    "Can the model be on a network disk?",
)
Q(
    "Reading does not wear out an SSD in a relevant way. Swapping does write, so keep enough memory"
    " free.",
    "Does colibri wear out my SSD?",
    "Is streaming bad for the SSD?",
    "Will colibri damage my disk?",
    "Is it safe for my SSD?",
)
Q(
    "Give the cache less memory and look at the plan with `coli plan`.",
    "What if I run out of memory?",
    "Colibri uses too much memory. What can I do?",
    "How do I lower the memory use?",
    "The program was killed because of memory. What now?",
)
Q(
    "Fast local storage and enough memory matter most. A GPU helps, but it is optional.",
    "What hardware do I need?",
    "Which hardware is good for colibri?",
    "What kind of computer do I need?",
    "Which part of the hardware matters most?",
)
# ---- built-in model -------------------------------------------------------------------------
Q(
    "The built-in model is hummingbird-nano, a tiny Mixture-of-Experts model for demos and tests.",
    "What is hummingbird-nano?",
    "Which model is built in?",
    "What is the default model?",
    "Which model do I get without a download?",
    "What is the demo model?",
    "What is the embedded model?",
)
Q(
    "hummingbird-nano has about 50 million parameters. About 8 million of them are active for each"
    " token.",
    "How many parameters does hummingbird-nano have?",
    "How big is hummingbird-nano?",
    "How large is the built-in model?",
    "What size is the default model?",
)
Q(
    "It is small so that it can be part of the program and start at once. It shows how colibri"
    " works.",
    "Why is hummingbird-nano so small?",
    "Why is the built-in model tiny?",
    "Why is the demo model small?",
    "What is the tiny model for?",
)
Q(
    "It can tell short stories, do simple arithmetic, answer simple questions, translate short"
    " phrases and call tools. It knows little.",
    "What can hummingbird-nano do?",
    "What can the built-in model do?",
    "What is the demo model good at?",
    "Which tasks can the tiny model do?",
)
Q(
    "It uses a byte-level BPE vocabulary of 4096 tokens.",
    "Which vocabulary does hummingbird-nano use?",
    "How many tokens does the vocabulary have?",
    "What is the vocabulary size of hummingbird-nano?",
    "Which tokenizer does the built-in model use?",
)
Q(
    "The built-in model is tiny, so it makes mistakes. Load a bigger model for better answers.",
    "Why are the answers so simple?",
    "Why does the demo model make mistakes?",
    "Why is the answer wrong?",
    "The answers are not good. Why?",
    "How do I get better answers?",
)
Q(
    "Give the folder of the other model with `--model`, for example `coli chat --model"
    " models/big`.",
    "How do I use another model?",
    "How do I load a bigger model?",
    "How do I choose the model?",
    "How can I change the model?",
    "How do I point colibri to my model?",
)
# ---- commands ----------------------------------------------------------------
Q(
    "`coli chat` starts a chat in the terminal.",
    "What does coli chat do?",
    "What is coli chat?",
    "What is the command coli chat for?",
    "How do I start a chat?",
    "How do I chat with the model?",
    "Which command opens a chat?",
    "How do I talk to a model in the terminal?",
)
Q(
    '`coli run` answers one prompt and then stops. Example: `coli run "Hello"`.',
    "What does coli run do?",
    "What is coli run?",
    "What is the command coli run for?",
    "How do I run one prompt?",
    "How do I get just one answer?",
    "Which command runs a single prompt?",
)
Q(
    "`coli serve` starts an HTTP server with an OpenAI-compatible API.",
    "What does coli serve do?",
    "What is coli serve?",
    "What is the command coli serve for?",
    "How do I start the API?",
    "How do I start a server?",
    "Which command starts the API server?",
    "How can other programs use the model?",
)
Q(
    "`coli web` starts the API and a web page with a chat and live numbers.",
    "What does coli web do?",
    "What is coli web?",
    "What is the command coli web for?",
    "How do I open the dashboard?",
    "How do I use colibri in the browser?",
    "Which command starts the web page?",
)
Q(
    "`coli plan` shows how the model will be placed in VRAM, RAM and on disk.",
    "What does coli plan do?",
    "What is coli plan?",
    "What is the command coli plan for?",
    "How do I see the memory plan?",
    "Which command shows the placement?",
    "How do I know where the experts will be?",
)
Q(
    "`coli doctor` checks if your machine and the model are ready. It only reads and changes"
    " nothing.",
    "What does coli doctor do?",
    "What is coli doctor?",
    "What is the command coli doctor for?",
    "How do I check my setup?",
    "Which command checks the machine?",
    "Something does not work. What should I run?",
    "How do I find problems?",
)
Q(
    "`coli convert` turns a model checkpoint into the format that colibri reads. It works shard by"
    " shard and can be resumed.",
    "What does coli convert do?",
    "What is coli convert?",
    "What is the command coli convert for?",
    "How do I convert a model?",
    "Which command converts weights?",
    "How do I prepare a model for colibri?",
)
Q(
    "`coli info` shows facts about the engine and the model, such as layers, experts and sizes.",
    "What does coli info do?",
    "What is coli info?",
    "What is the command coli info for?",
    "How do I see details of a model?",
    "Which command shows the model size?",
    "How many experts does my model have?",
)
Q(
    "`coli bench` measures the speed and prints tokens per second and the cache hit rate.",
    "What does coli bench do?",
    "What is coli bench?",
    "What is the command coli bench for?",
    "How do I measure the speed?",
    "Which command runs a benchmark?",
    "How do I benchmark colibri?",
)
Q(
    "The commands are: chat, run, serve, web, plan, doctor, convert, info and bench.",
    "Which commands does coli have?",
    "List the coli commands.",
    "What are the commands of colibri?",
    "Show me all commands.",
    "What can I type after coli?",
    "Which commands are there?",
)
Q(
    "Start with `coli doctor`, then `coli plan`, then `coli chat`.",
    "Which command should I use first?",
    "What should I run first?",
    "In which order should I use the commands?",
    "What are the first steps?",
)
Q(
    "Use `coli run` for one prompt and `coli chat` for a conversation.",
    "What is the difference between coli run and coli chat?",
    "When do I use run and when chat?",
    "coli run or coli chat?",
    "Should I use chat or run?",
)
Q(
    "`coli serve` gives only the API. `coli web` gives the API and a web page.",
    "What is the difference between coli serve and coli web?",
    "coli serve or coli web?",
    "When do I use serve and when web?",
)
Q(
    "`coli plan` shows the placement, `coli doctor` looks for problems.",
    "What is the difference between coli plan and coli doctor?",
    "coli plan or coli doctor?",
    "When do I use plan and when doctor?",
)
Q(
    "Set the environment variable COLI_MODEL to the folder of the model, or use `--model`.",
    "What is COLI_MODEL?",
    "How do I set the model folder?",
    "Which variable sets the model?",
    "How does colibri find the model?",
    "What is the variable COLI_MODEL for?",
)
Q(
    "Use `--port`, for example `coli serve --port 9000`.",
    "How do I change the port?",
    "Can I use another port?",
    "How do I set the port of the server?",
    "Which option sets the port?",
)
Q(
    "Set COLI_API_KEY. Then clients must send this key.",
    "How do I protect the server?",
    "How do I set an API key?",
    "What is COLI_API_KEY?",
    "How can I make the API safe?",
    "Which variable sets the API key?",
)
Q(
    "The server listens only on your own machine by default. Set an API key before you open it to"
    " others.",
    "Can other people reach my server?",
    "Is the server open to the network?",
    "On which address does the server listen?",
    "Is the API public?",
)
Q(
    "Send a POST request with your messages to /v1/chat/completions.",
    "Which endpoint does the API have?",
    "How do I call the API?",
    "What is the chat endpoint?",
    "Where do I send chat requests?",
    "Which URL is for chat?",
)
Q(
    "Yes. The server speaks the OpenAI format, so many clients work with it.",
    "Is the API compatible with OpenAI?",
    "Can I use an OpenAI client?",
    "Does colibri have an OpenAI-compatible API?",
    "Do existing chat clients work with colibri?",
)
Q(
    "Yes. With streaming the server sends the tokens as soon as they are ready.",
    "Can the API stream tokens?",
    "Does colibri support streaming answers?",
    "Can I see the answer while it is written?",
    "What is streaming in the API?",
)
Q(
    "Yes. You send a list of tools, and the model can answer with a tool call. Your program runs"
    " the tool and sends back the result.",
    "Does colibri support tools?",
    "Can the model call tools?",
    "How do tool calls work?",
    "How does tool calling work?",
    "What is a tool call?",
)
Q(
    "The dashboard shows a chat, tokens per second, the time per step and how many experts are in"
    " VRAM, RAM and on disk.",
    "What does the dashboard show?",
    "What can I see on the web page?",
    "What is on the dashboard?",
    "Which numbers does the dashboard show?",
)
Q(
    "The brain page shows all experts as points. The color is the tier and the brightness is how"
    " often an expert is used.",
    "What is the brain page?",
    "What does the brain page show?",
    "Explain the brain view.",
    "What do the colors on the brain page mean?",
)
Q(
    "The atlas shows which experts work for which topics, such as poetry, law, Chinese or SQL.",
    "What is the expert atlas?",
    "What does the atlas show?",
    "Explain the atlas page.",
    "What is the atlas?",
)
# ---- model parts -------------------------------------------------------------
D(
    "an expert",
    "An expert is a small network inside a Mixture-of-Experts layer. Only a few experts work for"
    " each token.",
    "What are experts?",
    "What is an expert in a MoE model?",
)
D(
    "a Mixture-of-Experts model",
    "A Mixture-of-Experts model has many experts in each layer. A router picks a few of them for"
    " each token.",
    "What is MoE?",
    "What does MoE mean?",
    "What is a MoE model?",
)
D(
    "the router",
    "The router is a small layer that scores the experts and picks the best ones for each token.",
    "What does the router do?",
    "Who picks the experts?",
    "How are the experts chosen?",
)
D(
    "routing",
    "Routing means that the router sends each token to a few experts.",
    "What does routing mean?",
)
D(
    "top-k routing",
    "Top-k routing means that the k experts with the best scores are used.",
    "What does top-k mean for experts?",
)
D(
    "a shared expert",
    "A shared expert works for every token, so it always stays in memory.",
    "Why are shared experts kept in memory?",
)
D(
    "the dense part",
    "The dense part is everything that every token needs, such as attention and embeddings. It"
    " stays in memory.",
    "Which part of the model is always in memory?",
    "What stays in RAM all the time?",
)
D(
    "a layer",
    "A layer is one step of the network. The text passes through all layers, one after the other.",
    "What are layers?",
)
D("attention", "Attention lets each token look at the tokens before it.", "What does attention do?")
D(
    "an embedding",
    "An embedding is a list of numbers that stands for a token.",
    "What are embeddings?",
)
D(
    "a token",
    "A token is a small piece of text, often a word or a part of a word.",
    "What are tokens?",
)
D(
    "a tokenizer",
    "A tokenizer cuts text into tokens and turns tokens back into text.",
    "What does the tokenizer do?",
)
D(
    "BPE",
    "BPE means byte pair encoding. It builds tokens by joining pieces that often appear together.",
    "How does BPE work?",
)
D(
    "a parameter",
    "A parameter is one number in the model. All parameters together are the weights.",
    "What are parameters?",
    "What are weights?",
)
D(
    "the active parameters",
    "The active parameters are the ones that are used for one token. In a MoE model they are only a"
    " small part.",
    "What does active parameters mean?",
)
D(
    "quantization",
    "Quantization stores weights with fewer bits. This saves space and bandwidth.",
    "Why are weights quantized?",
    "What does quantized mean?",
)
D("int4", "int4 means that each weight is stored with 4 bits.", "How many bits does int4 have?")
D("int8", "int8 means that each weight is stored with 8 bits.", "How many bits does int8 have?")
D(
    "bf16",
    "bf16 is a number format with 16 bits. It needs two bytes for each weight.",
    "How many bits does bf16 have?",
)
D(
    "a checkpoint",
    "A checkpoint is the set of files with the weights of a model.",
    "What is in a checkpoint?",
)
D("a shard", "A shard is one of the files that hold a part of the weights.", "What are shards?")
D(
    "the container",
    "The container is the folder with the converted model files that colibri reads.",
    "What is a model container?",
)
D("safetensors", "safetensors is a simple file format for weights.", "What are safetensors files?")
Q(
    "config.json tells colibri the shape of the model, such as the number of layers and experts.",
    "What is config.json?",
    "What is config.json for?",
    "What does config.json contain?",
    "Why does colibri read config.json?",
)
D("inference", "Inference means using a trained model to get answers.", "What does inference mean?")
D(
    "the context length",
    "The context length is how many tokens the model can look at.",
    "What is the context window?",
    "How much text can the model see?",
)
# ---- memory and cache --------------------------------------------------------
D(
    "a tier",
    "A tier is a place for weights: VRAM, RAM or disk. VRAM is the fastest and disk is the"
    " largest.",
    "What are tiers?",
    "Which tiers are there?",
    "What are the memory tiers?",
    "What are the three tiers?",
)
Q(
    "VRAM is the fastest tier, then RAM, then disk.",
    "Which tier is the fastest?",
    "What is faster, VRAM or RAM?",
    "What is faster, RAM or disk?",
    "Sort the tiers by speed.",
    "Which tier is the slowest?",
)
D("VRAM", "VRAM is the memory of the GPU. It is the fastest tier.", "What does VRAM mean?")
D("RAM", "RAM is the main memory of the computer. It is faster than disk.", "What does RAM mean?")
D(
    "NVMe",
    "NVMe is a fast kind of SSD. It is good for streaming experts.",
    "What is an NVMe disk?",
    "Why is NVMe good for colibri?",
)
D(
    "the expert cache",
    "The expert cache keeps experts in memory that were used recently or often.",
    "What does the cache hold?",
    "What is the cache for?",
    "What is the cache?",
)
D(
    "a cache hit",
    "A cache hit means that the expert is already in fast memory.",
    "When do we have a cache hit?",
    "What happens on a cache hit?",
)
D(
    "a cache miss",
    "A cache miss means that the expert is not in memory and must be read from disk.",
    "When do we have a cache miss?",
    "What happens on a cache miss?",
)
D(
    "the hit rate",
    "The hit rate is the share of expert requests that are found in memory. Higher is better.",
    "What is a good hit rate?",
    "What does hit rate mean?",
)
D(
    "LRU",
    "LRU means least recently used. When the cache is full, the expert that was not used for the"
    " longest time leaves.",
    "What does LRU mean?",
    "Which expert leaves a full cache?",
)
D(
    "a pinned expert",
    "A pinned expert stays in fast memory because it is used often.",
    "What does pinning mean?",
    "What are pinned experts?",
    "Why are experts pinned?",
)
D(
    "eviction",
    "Eviction means that an expert leaves the cache to make room for another one.",
    "What does it mean to evict an expert?",
)
D(
    "routing heat",
    "Routing heat tells how often an expert was used. Hot experts get a faster tier.",
    "What is heat?",
    "How does colibri know which experts are hot?",
)
D(
    "a hot expert",
    "A hot expert is used often, so it should be in fast memory.",
    "What are hot experts?",
)
D(
    "a cold expert",
    "A cold expert is rarely used, so it can stay on disk.",
    "What are cold experts?",
)
D(
    "a warm cache",
    "A warm cache already holds the experts that you need, so answers come faster.",
    "What does warm cache mean?",
)
D(
    "a cold cache",
    "A cold cache is still empty, so many experts must be read from disk.",
    "What does cold cache mean?",
)
D(
    "the learning cache",
    "The learning cache remembers which experts your work needs and keeps them ready.",
    "Does colibri learn what I use?",
    "Why does colibri get faster over time?",
)
D(
    "prefetch",
    "Prefetch means reading experts before they are needed, so that the disk is not waited for.",
    "What does prefetch do?",
    "What is prefetching?",
    "Why does colibri prefetch?",
)
D(
    "router lookahead",
    "Router lookahead guesses the experts of the next layer while the current layer is still"
    " computing.",
    "What is lookahead?",
    "How does colibri know what to prefetch?",
)
Q(
    "Yes. A wrong guess reads experts that nobody needs, and that costs time. So it must be"
    " measured.",
    "Can prefetch be slower?",
    "Does prefetch always help?",
    "Is prefetch always good?",
    "When does prefetch hurt?",
)
D(
    "batch union",
    "Batch union means that an expert needed by several tokens is read only once.",
    "What does batch union do?",
    "How are reads shared in a batch?",
)
D(
    "direct I/O",
    "Direct I/O reads from the disk without the page cache. It helps on some disks and not on"
    " others.",
    "What is O_DIRECT?",
    "Should I use direct I/O?",
)
D(
    "the page cache",
    "The page cache is memory that the system uses to keep file data.",
    "What does the page cache do?",
)
D(
    "overlap",
    "Overlap means that colibri reads from disk and computes at the same time.",
    "What does overlapping I/O mean?",
    "Does colibri compute while it reads?",
)
D("bandwidth", "Bandwidth is how much data can be moved per second.", "What does bandwidth mean?")
D(
    "latency",
    "Latency is the time that you wait for one answer or one read.",
    "What does latency mean?",
)
D(
    "throughput",
    "Throughput is how much work is done per second, for example tokens per second.",
    "What does throughput mean?",
)
# ---- mirror ------------------------------------------------------------------
D(
    "a mirror",
    "A mirror is a second copy of the model on another disk. Colibri reads from both disks, so"
    " reading is faster.",
    "What is the mirror for?",
    "How does the mirror work?",
    "Why do I need a second copy of the model?",
)
Q(
    "Set COLI_MODEL_MIRROR to the folder of the second copy.",
    "How do I use a mirror?",
    "How do I set up a mirror?",
    "What is COLI_MODEL_MIRROR?",
    "Which variable sets the mirror?",
    "How do I use two disks?",
)
Q(
    "No. The mirror is only read, never written.",
    "Does colibri write to the mirror?",
    "Is the mirror changed?",
    "Is the mirror written?",
)
Q(
    "Colibri reads from the first disk again and prints a warning. Nothing is lost.",
    "What happens if the mirror fails?",
    "What if the second disk is unplugged?",
    "What happens when the mirror has a read error?",
)
Q(
    "Yes. Files that are missing on the mirror are read from the first disk.",
    "Can the mirror be incomplete?",
    "Is a partial mirror allowed?",
    "Must the mirror have all files?",
)
Q(
    "No. Both copies are the same, so the tokens are the same.",
    "Does a mirror change the answers?",
    "Does the mirror change tokens?",
    "Are the answers different with a mirror?",
)
# ---- decoding ----------------------------------------------------------------
D(
    "the KV cache",
    "The KV cache stores keys and values of earlier tokens, so they are not computed again.",
    "What is KV?",
    "Why is there a KV cache?",
    "What does the KV cache do?",
)
D(
    "KV persistence",
    "KV persistence saves the KV cache to disk. So a chat can go on after a restart without reading"
    " everything again.",
    "What is a persistent KV cache?",
    "Can a chat go on after a restart?",
    "How does colibri keep a conversation?",
    "Why is the KV cache saved to disk?",
)
D(
    "MLA",
    "MLA is a kind of attention that stores a small, compressed KV state.",
    "What does MLA do?",
)
D(
    "prefill",
    "Prefill is the phase in which the model reads your prompt.",
    "What happens during prefill?",
)
D(
    "decoding",
    "Decoding is the phase in which the model writes the answer, token by token.",
    "What is decode?",
    "What happens during decode?",
)
D(
    "TTFT",
    "TTFT means time to first token. It is how long you wait until the answer starts.",
    "What does TTFT mean?",
)
D(
    "MTP",
    "MTP means multi-token prediction. A small head drafts the next tokens and the main model"
    " checks them.",
    "What does MTP mean?",
    "What is the MTP head?",
    "What is multi-token prediction?",
)
D(
    "speculative decoding",
    "In speculative decoding some tokens are drafted quickly and then checked together by the main"
    " model.",
    "How does speculative decoding work?",
    "What is speculation?",
)
D(
    "a draft",
    "A draft is a guess for the next tokens. The main model accepts or rejects it.",
    "What is a draft token?",
    "What are drafts?",
)
D(
    "the acceptance rate",
    "The acceptance rate is the share of draft tokens that the main model accepts.",
    "What does acceptance mean?",
)
Q(
    "Not always. Drafts cost extra reads, so they help only when enough of them are accepted.",
    "Does speculation always help?",
    "Does MTP always make it faster?",
    "Are drafts always good?",
    "When does speculation not pay?",
)
Q(
    "Set DRAFT=0.",
    "How do I turn off drafts?",
    "How do I disable speculation?",
    "How can I switch off MTP?",
    "Which setting turns off speculative decoding?",
)
Q(
    "Because a head with only 4 bits makes bad guesses, so almost no draft is accepted.",
    "Why must the MTP head be int8?",
    "Why is the MTP head not int4?",
    "Why does an int4 MTP head fail?",
)
D(
    "a grammar",
    "A grammar describes the allowed output, for example JSON. It can also propose tokens that must"
    " come next.",
    "What is a grammar draft?",
    "What are grammars for?",
)
D(
    "sampling",
    "Sampling picks the next token at random, but likely tokens are picked more often.",
    "How is the next token chosen?",
)
D(
    "the temperature",
    "The temperature controls how random the answer is. Zero is the most stable.",
    "What does temperature do?",
    "What is temperature for a model?",
)
D(
    "top-p",
    "Top-p keeps only the most likely tokens that together reach the probability p.",
    "What does top-p do?",
    "What is nucleus sampling?",
)
D(
    "greedy decoding",
    "Greedy decoding always takes the most likely token.",
    "What does greedy mean?",
)
D(
    "a seed",
    "A seed is a start number for random choices. The same seed gives the same result.",
    "What is the random seed?",
    "How do I get the same answer again?",
)
D(
    "a system prompt",
    "A system prompt is a text at the start that tells the model how to behave.",
    "What is the system message?",
)
D("a prompt", "A prompt is the text that you give to the model.", "What are prompts?")
Q(
    "The model can write down its thinking first and then give the answer.",
    "What is reasoning mode?",
    "What does thinking mean for a model?",
    "What is think mode?",
    "Why does the model think first?",
)
# ---- hardware ----------------------------------------------------------------
D("CUDA", "CUDA is the way to run programs on NVIDIA GPUs.", "What is CUDA for?")
D("Metal", "Metal is the way to use the GPU on Apple machines.", "What is Metal for?")
D(
    "NUMA",
    "NUMA means that each processor has its own near memory. Near memory is faster.",
    "What does NUMA mean?",
)
D(
    "a kernel",
    "A kernel is a small fast program for one operation, such as multiplying matrices.",
    "What are kernels?",
)
Q(
    "Write down the hardware, the model, the exact command, the cache state and the speed. Change"
    " only one thing at a time.",
    "How do I report a benchmark?",
    "How do I measure correctly?",
    "What should I write down in a benchmark?",
    "How do I compare two settings?",
)

PLAIN = [
    i
    for i, d in enumerate(DEFS)
    if not d[1].startswith(
        (
            "No.",
            "Yes.",
            "Not ",
            "Because",
            "Set ",
            "Use ",
            "It ",
            "Start ",
            "Give ",
            "The first ",
            "Colibri reads from",
        )
    )
]

TASKS = [
    ("chat with a model", "chat"),
    ("answer one prompt", "run"),
    ("start an API server", "serve"),
    ("open the web page", "web"),
    ("see the memory plan", "plan"),
    ("check the machine", "doctor"),
    ("convert a checkpoint", "convert"),
    ("show facts about a model", "info"),
    ("measure the speed", "bench"),
    ("talk in the terminal", "chat"),
    ("run a benchmark", "bench"),
    ("find problems", "doctor"),
    ("serve an API for other programs", "serve"),
    ("see where the experts go", "plan"),
    ("use the browser", "web"),
    ("see the number of layers", "info"),
]
MODELS = [
    "big",
    "small",
    "nano",
    "moe",
    "demo",
    "test",
    "large",
    "my-model",
    "glm",
    "hummingbird",
    "alpha",
    "beta",
]
PROMPTS = [
    "Hello",
    "Tell me a story",
    "What is 2 + 2?",
    "Write a poem",
    "Say hi in French",
    "Count to five",
    "What is an expert?",
    "Name three colors",
    "Good morning",
    "Sort b, a, c",
]


def _def(ctx):
    i = ctx.randint(0, len(DEFS) - 1)
    q = ctx.pick(DEFS[i][0])
    return ("col|" + q.lower() if q.lower() != DEFS[i][0][0].lower() else None), (q, DEFS[i][1])


def _text(ctx):
    ids = ctx.sample(PLAIN, ctx.randint(2, 4))
    return "coltext|%s" % sorted(ids), [DEFS[i][1] for i in ids]


def def_turn(ctx):
    q, a = ctx.draw(_def)
    return turn(q, a, "This is a question about colibri.")


def _task(ctx):
    t, c = ctx.pick(TASKS)
    i = ctx.randint(0, 3)
    return ("colt|%s|%d" % (t, i) if i else None), (
        [
            "Which command do I use to %s?",
            "How do I %s with colibri?",
            "I want to %s. Which command?",
            "coli: how to %s?",
        ][i]
        % t,
        "Use `coli %s`." % c,
    )


def task_turn(ctx):
    q, a = ctx.draw(_task)
    return turn(q, a)


def _cmd(ctx):
    k = ctx.pick(
        ["chat", "run", "serve", "web", "plan", "doctor", "info", "bench", "mirror", "env"]
    )
    m = "models/" + ctx.pick(MODELS)
    port = ctx.pick([8000, 8001, 8080, 9000, 9090, 5000, 7000])
    p = ctx.pick(PROMPTS)
    if k == "chat":
        u, c = "to chat with the model in %s" % m, "coli chat --model %s" % m
    elif k == "run":
        u, c = 'to run the prompt "%s" with the model in %s' % (
            p,
            m,
        ), 'coli run "%s" --model %s' % (p, m)
    elif k == "serve":
        u, c = "to serve the model in %s on port %d" % (
            m,
            port,
        ), "coli serve --model %s --port %d" % (m, port)
    elif k == "web":
        u, c = "to open the web page for the model in %s" % m, "coli web --model %s" % m
    elif k == "plan":
        u, c = "to plan the memory for the model in %s" % m, "coli plan --model %s" % m
    elif k == "doctor":
        u, c = "to check the model in %s" % m, "coli doctor --model %s" % m
    elif k == "info":
        u, c = "to show facts about the model in %s" % m, "coli info --model %s" % m
    elif k == "bench":
        u, c = "to measure the speed of the model in %s" % m, "coli bench --model %s" % m
    elif k == "mirror":
        m2 = "second/" + m.split("/")[1]
        u, c = "to chat with the model in %s and a mirror in %s" % (
            m,
            m2,
        ), "COLI_MODEL=%s COLI_MODEL_MIRROR=%s coli chat" % (m, m2)
    else:
        u, c = "to chat with COLI_MODEL set to %s" % m, "COLI_MODEL=%s coli chat" % m
    i = ctx.randint(0, 2)
    return "colc|%s|%d" % (u, i), (
        ["Give me the command %s.", "Which command do I type %s?", "Write the colibri command %s."][
            i
        ]
        % u,
        "```\n%s\n```" % c,
    )


def cmd_turn(ctx):
    q, a = ctx.draw(_cmd)
    return turn(q, a, noise=1)


def _calc(ctx):
    k = ctx.pick(["idle", "hit", "miss", "read", "total", "time", "mirror", "size"])
    if k == "idle":
        n, a = ctx.pick([8, 16, 32, 64, 128, 256]), ctx.pick([1, 2, 4, 6, 8])
        if a >= n:
            a = 1
        return "cc|idle|%d|%d" % (n, a), (
            "A layer has %d experts and %d %s used for a token. How many are idle?"
            % (n, a, "is" if a == 1 else "are"),
            "%d experts are idle." % (n - a),
            "%d - %d = %d." % (n, a, n - a),
            n - a,
        )
    if k == "hit":
        t = ctx.pick([10, 20, 50, 100, 200])
        h = t * ctx.randint(1, 10) // 10
        p = h * 100 // t
        return "cc|hit|%d|%d" % (h, t), (
            "Of %d expert requests, %d were found in memory. What is the hit rate?" % (t, h),
            "The hit rate is %d%%." % p,
            "%d / %d = %d%%." % (h, t, p),
            p,
        )
    if k == "miss":
        t = ctx.randint(20, 500)
        h = ctx.randint(5, t - 1)
        return "cc|miss|%d|%d" % (h, t), (
            "There were %d expert requests and %d cache hits. How many misses?" % (t, h),
            "There were %d misses." % (t - h),
            "%d - %d = %d." % (t, h, t - h),
            t - h,
        )
    if k == "read":
        n, s = ctx.randint(2, 12), ctx.randint(2, 20)
        return "cc|read|%d|%d" % (n, s), (
            "%d experts of %d MB each must be read. How many MB is that?" % (n, s),
            "That is %d MB." % (n * s),
            "%d x %d = %d." % (n, s, n * s),
            n * s,
        )
    if k == "total":
        n, s = ctx.randint(2, 60), ctx.pick([8, 16, 32, 64])
        return "cc|total|%d|%d" % (n, s), (
            "A model has %d layers with %d experts each. How many experts are there?" % (n, s),
            "There are %d experts." % (n * s),
            "%d x %d = %d." % (n, s, n * s),
            n * s,
        )
    if k == "time":
        b = ctx.randint(1, 9)
        t = ctx.randint(2, 12)
        return "cc|time|%d|%d" % (b, t), (
            "A disk reads %d GB per second. How long does it take to read %d GB?" % (b, b * t),
            "It takes %d seconds." % t,
            "%d / %d = %d." % (b * t, b, t),
            t,
        )
    if k == "mirror":
        a, b = ctx.randint(1, 12), ctx.randint(1, 12)
        return "cc|mir|%d|%d" % (a, b), (
            "One disk reads %d GB per second and its mirror reads %d GB per second. How fast are"
            " both together?" % (a, b),
            "Together they read %d GB per second." % (a + b),
            "%d + %d = %d." % (a, b, a + b),
            a + b,
        )
    n = 2 * ctx.randint(1, 200)
    return "cc|size|%d" % n, (
        "How much space do %d million weights need with int4?" % n,
        "They need %d MB." % (n // 2),
        "4 bits are half a byte. %d / 2 = %d." % (n, n // 2),
        n // 2,
    )


def calc_turn(ctx):
    q, a, r, v = ctx.draw(_calc)
    return turn(q, a, r, {"kind": "first_int", "ans": v}, noise=1)


def one(ctx):
    return ctx.wpick([(70, def_turn), (8, task_turn), (12, cmd_turn), (10, calc_turn)])(ctx)


def sample(ctx):
    if ctx.chance(0.10):
        its = ctx.draw(_text)
        return text_sample("colibri", "\n".join(("- " if len(its) > 2 else "") + a for a in its))
    n = ctx.wpick([(26, 1), (24, 2), (24, 3), (16, 4), (10, 5)])
    turns, seen = [], set()
    while len(turns) < n:
        t = one(ctx)
        if t["a"] in seen:
            continue
        seen.add(t["a"])
        turns.append(t)
    system = (
        ctx.pick(
            [
                "You help people with colibri.",
                "You are Colibri-nano. You answer questions about colibri.",
                "Answer questions about colibri.",
            ]
        )
        if ctx.chance(0.08)
        else None
    )
    return build(ctx, "colibri", turns, system=system, think=0.05)
