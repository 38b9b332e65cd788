"""Topic 2: short rhymed verses from rhyme tables, haiku, rhyme questions."""

from core import turn, build, text_sample, cap, join_and

# rhyme groups: end words that may be paired (checked by checks.py)
RHYMES = {
    "ay": "day play way say stay away gray today hay may clay tray".split(),
    "ight": "light night bright sight kite white right tight flight".split(),
    "ee": "tree sea bee honeybee me free see key three knee be".split(),
    "ing": "sing ring king wing spring thing bring swing string".split(),
    "ow": "snow go slow low grow know glow flow blow so ago".split(),
    "ew": "blue new too dew you true two few view".split(),
    "air": "air hair fair chair pair there care bear share".split(),
    "old": "gold cold old told hold bold".split(),
    "ound": "round sound ground found around".split(),
    "ine": "fine line mine nine shine pine vine".split(),
    "ong": "song long strong along".split(),
    "est": "nest best rest west guest".split(),
    "all": "ball wall tall fall small call all".split(),
    "at": "cat hat bat mat rat flat that".split(),
    "ake": "cake lake make take wake snake".split(),
    "oon": "moon spoon soon noon june".split(),
    "ook": "book look cook took brook".split(),
    "ell": "bell well tell shell fell".split(),
    "ill": "hill still will fill mill".split(),
    "og": "dog frog log fog".split(),
    "en": "pen ten hen men then".split(),
    "un": "sun run fun bun begun".split(),
    "eam": "dream stream cream team".split(),
    "ouse": "house mouse".split(),
    "and": "sand hand land stand".split(),
    "ear": "ear near year clear hear dear".split(),
    "own": "town brown down crown".split(),
    "ain": "rain train plain grain chain".split(),
    "op": "top stop hop drop shop".split(),
    "ate": "gate late plate date".split(),
}
GROUP_OF = {w: g for g, ws in RHYMES.items() for w in ws}

CLASSES = {
    "night": ["the moon", "the star", "the night", "the firefly"],
    "sun": ["the sun", "the morning", "the sunrise", "the rainbow"],
    "water": ["the sea", "the river", "the rain", "the lake", "the stream"],
    "plant": ["the rose", "the tree", "the flower", "the garden", "the sunflower", "the leaf"],
    "animal": [
        "the cat",
        "the fox",
        "the frog",
        "the mouse",
        "the dog",
        "the horse",
        "the rabbit",
        "the squirrel",
    ],
    "bird": ["the bird", "the hummingbird", "the swallow", "the robin", "the bee", "the butterfly"],
    "season": ["the spring", "the summer", "the autumn", "the winter", "the wind"],
    "heart": ["my friend", "my mother", "my brother", "my sister", "my grandmother", "my teacher"],
    "feeling": ["love", "hope", "joy", "kindness", "music", "laughter", "friendship", "peace"],
    "thing": ["my book", "my house", "my dream", "my song", "my garden gate", "my lamp"],
}

FIRST = {
    "night": {
        "ight": [
            "<T> is clear and {calm|round|soft} and bright",
            "I see <t> in {silver|quiet|gentle} light",
        ],
        "ow": [
            "<T> has a {soft|warm|pale} and silver glow",
            "<T> is {calm|soft|still} and moving slow",
        ],
        "ee": ["<T> is looking down on me", "<T> is high above the tree"],
        "ay": ["<T> has come to end the day", "<T> is {soft|deep|calm} and far away"],
        "est": ["<T> has come to give us rest", "<T> is moving to the west"],
    },
    "sun": {
        "ay": ["<T> has come to {start|paint|warm} the day", "<T> has pushed the clouds away"],
        "ight": [
            "<T> is {warm|big|clear} and full of light",
            "<T> is {strong|warm|glad} and very bright",
        ],
        "old": ["<T> is painted red and gold", "<T> is {young|new} and very old"],
        "ine": ["<T> is {bright|warm|glad} and feeling fine", "I love to see <t> shine"],
        "un": ["<T> is here, the day's begun", "<T> has come for everyone's fun"],
    },
    "water": {
        "ay": ["<T> is {singing|dancing} all the day", "I {watch|see} <t> and hear it play"],
        "ee": ["<T> is calling you and me", "<T> is cool and {clean|clear} and free"],
        "ow": ["<T> can whisper {soft|sweet|deep} and low", "I love to see <t> and its flow"],
        "ew": ["<T> is silver, {green|gray} and blue", "<T> is old and always new"],
        "ight": ["<T> is shining in the light", "I hear <t> in the {quiet|middle of the} night"],
    },
    "plant": {
        "ow": ["I {watch|see} <t> slowly grow", "<T> was {tiny|little} long ago"],
        "ee": ["<T> is {fresh|green} and good to see", "<T> is {nodding|bowing} down to me"],
        "ing": ["<T> is waiting for the spring", "<T> can hear the robin sing"],
        "ound": ["<T> is standing in the ground", "<T> is {growing|waking} with no sound"],
        "air": [
            "<T> is {breathing|dancing} in the air",
            "<T> is {small|sweet|proud} and very fair",
        ],
    },
    "animal": {
        "ay": ["<T> is {ready|hungry|waiting} for the day", "<T> will {always|never} stop to play"],
        "ow": ["<T> is {quick|small|soft} and never slow", "<T> is running in the snow"],
        "all": ["<T> is sitting on the wall", "<T> is neither big nor small"],
        "ight": [
            "<T> is {looking|walking} for the light",
            "<T> is {brown|gray|quick} and not so white",
        ],
        "est": ["<T> is looking for some rest", "<T> is the one I like the best"],
    },
    "bird": {
        "ing": ["<T> has a {small|light|bright} and busy wing", "<T> has come to greet the spring"],
        "air": ["<T> is dancing in the air", "<T> is {small|light} without a care"],
        "ee": [
            "<T> is {small|light|quick} and wild and free",
            "<T> is {flying|coming} close to me",
        ],
        "ay": ["<T> is {busy|flying} all the day", "<T> will come and fly away"],
        "ew": ["<T> is flying in the blue", "<T> has come to visit you"],
    },
    "season": {
        "ay": ["<T> is here to stay today", "<T> has a {song|word|tale} to say"],
        "ow": ["<T> is coming {sweet|soft} and slow", "<T> is here, and all things know"],
        "air": ["<T> is {dancing|singing} in the air", "I feel <t> {here and there|in my hair}"],
        "old": ["<T> is {young|new} and <T2> is old", "<T> has a {story|fairy tale} to be told"],
        "ound": ["<T> has a {soft|sweet|new} and gentle sound", "<T> is dancing all around"],
    },
    "heart": {
        "ay": ["<T> is with me {every|night and} day", "<T> knows a {better|kind and gentle} way"],
        "ee": ["<T> is {smiling|laughing} next to me", "<T> is as {kind|warm|good} as one can be"],
        "ew": ["<T> is {kind|good|warm} and always true", "<T> has come to look for you"],
        "air": ["<T> has a {big|warm} and heart to share", "<T> is {good|kind} and full of care"],
        "ong": ["<T> is {gentle|kind} and very strong", "<T> is singing me a song"],
    },
    "thing": {
        "ight": [
            "<T> is with me {every|in the} night",
            "<T> is {small|warm|good} and full of light",
        ],
        "ow": ["<T> is {all|the thing} I want to know", "<T> goes everywhere I go"],
        "ee": ["<T> is {good|warm|kind} and dear to me", "<T> is like a {friend|gift} to me"],
        "old": ["<T> is {small|big} and very old", "<T> is {worth more|better} than some gold"],
        "ay": ["<T> is {waiting|ready} for me every day", "<T> can take me far away"],
    },
}
FIRST["feeling"] = {
    "ay": ["<T> is here to light the day", "<T> can take the fear away"],
    "ight": ["<T> is like a candle light", "<T> can make the darkness bright"],
    "ee": ["<T> is gentle, <t> is free", "<T> is like a shady tree"],
    "ow": ["<T> can make a garden grow", "<T> is soft as falling snow"],
    "old": ["<T> is worth much more than gold", "<T> keeps us from the winter cold"],
}
# fix rows that must read well
FIRST["season"]["old"] = [
    "<T> is {young|new} and never old",
    "<T> has a {story|fairy tale} to be told",
]
FIRST["heart"]["air"] = [
    "<T> has a {big|warm} kind heart to share",
    "<T> is {good|kind} and full of care",
]
FIRST["thing"]["ight"] = [
    "<T> is with me {day and|in the} night",
    "<T> is {small|warm|good} and full of light",
]
FIRST["thing"]["ee"] = ["<T> is {good|warm|kind} and dear to me", "<T> is like an old, old tree"]
FIRST["sun"]["un"] = ["<T> is here, the day's begun", "<T> is here, it's time for fun"]

LINES = {
    "night": {
        "ight": [
            "it makes the dark a little bright",
            "it watches over us all night",
            "it guides the sailor home all right",
            "it paints the roofs a milky white",
        ],
        "ow": [
            "it shines upon the roofs of snow",
            "it sees the world asleep below, so slow",
            "it was the same so long ago",
            "it knows the way that dreams will go",
        ],
        "ee": [
            "it makes a mirror of the sea",
            "it has a quiet look for me",
            "it helps the tired eyes to see",
            "it hides behind the apple tree",
        ],
        "ay": [
            "it will not sleep until the day",
            "it shows the traveller the way",
            "it hears the things we want to say",
            "it turns the garden silver gray",
        ],
        "est": [
            "it sings the swallow in the nest",
            "of all the hours it is the best",
            "it stays with us, a quiet guest",
            "and every heart can find its rest",
        ],
    },
    "sun": {
        "ay": [
            "the children all come out to play",
            "it tells the shadows, go away",
            "the farmer sings and cuts the hay",
            "it shows the little ants the way",
        ],
        "ight": [
            "it wakes the bird and lifts the kite",
            "it makes the dusty window bright",
            "it drives away the cold of night",
            "and all the world looks clean and white",
        ],
        "old": [
            "it turns the yellow fields to gold",
            "it warms the hands of young and old",
            "it takes away the winter cold",
            "it is a gift for all to hold",
        ],
        "ine": [
            "it dries the shirts upon the line",
            "and so the grapes grow on the vine",
            "it makes the drops of water shine",
            "the world is yours, the world is mine",
        ],
        "un": [
            "the cat is sleeping in the sun",
            "it warms the loaf, it warms the bun",
            "and all the children jump and run",
            "there is some light for everyone's fun",
        ],
    },
    "water": {
        "ay": [
            "it has a thousand words to say",
            "it takes my paper boat away",
            "it always finds another way",
            "it never tires of its play",
        ],
        "ee": [
            "it sings a quiet song to me",
            "it gives a drink to every tree",
            "it hums just like a honeybee",
            "it goes to lands I cannot see",
        ],
        "ow": [
            "it always knows the way to go",
            "it makes the little flowers grow",
            "it tells me all I want to know",
            "it can be fast, it can be slow",
        ],
        "ew": [
            "it shows the sky a mirror too",
            "it wakes the grass with drops of dew",
            "each drop is clear, each drop is new",
            "it sings a song for me and you",
        ],
        "ight": [
            "each little drop is round and bright",
            "it hums until the morning light",
            "it cools the day and calms the night",
            "a ribbon blue, a ribbon white",
        ],
    },
    "plant": {
        "ow": [
            "it drinks the rain and melts the snow",
            "it needs the sun, as farmers know",
            "it takes its time, it grows so slow",
            "it lets the wind of evening blow",
        ],
        "ee": [
            "it feeds the busy honeybee",
            "it gives a little shade to me",
            "it stands as tall as it can be",
            "it dreams about a distant sea",
        ],
        "ing": [
            "a robin comes to it to sing",
            "it has a leaf for everything to bring",
            "it is a small but lovely thing",
            "the bees will visit on the wing",
        ],
        "ound": [
            "the rain is falling all around",
            "its roots go deep into the ground",
            "it turns to light without a sound",
            "its leaves are soft, its leaves are round",
        ],
        "air": [
            "it gives us clean and gentle air",
            "the birds can build their houses there",
            "it has a hundred leaves to share",
            "it needs some water and some care",
        ],
    },
    "animal": {
        "ay": [
            "it sleeps upon a bed of hay",
            "it looks at me as if to say",
            "it always finds the shortest way",
            "it hears a sound and runs away",
        ],
        "ow": [
            "it has a secret place to go",
            "it hides where yellow grasses grow",
            "it listens when the cold winds blow",
            "it knows the things that foxes know",
        ],
        "all": [
            "it jumps and rolls just like a ball",
            "it never had a fear to fall",
            "it comes to me each time I call",
            "it is the kindest of them all",
        ],
        "ight": [
            "its eyes are round, its eyes are bright",
            "it dreams about a summer night",
            "it never wants to start a fight, all right",
            "it comes at dusk, so soft and light",
        ],
        "est": [
            "it sleeps as warm as in a nest",
            "it is a quiet little guest",
            "it runs to north and runs to west",
            "it tries to do its very best",
        ],
    },
    "bird": {
        "ing": [
            "it hums and hums, it loves to sing",
            "it is a small and happy thing",
            "it sits upon a piece of string",
            "it flies in circles, ring by ring",
        ],
        "air": [
            "it has a song that it will share",
            "it turns and it is here and there",
            "it makes the evening sweet and fair",
            "it rests a moment on my chair",
        ],
        "ee": [
            "it drinks from flower and from tree",
            "it goes as far as it can see",
            "it brings a little song to me",
            "it counts the roses, one, two, three",
        ],
        "ay": [
            "it always seems to know the way",
            "it hears what all the flowers say",
            "it shines in green and gold and gray",
            "it loves to hover and to play",
        ],
        "ew": [
            "it drinks the drops of morning dew",
            "it sees the world from high up too",
            "it finds a garden that is new",
            "it has a simple heart and true",
        ],
    },
    "season": {
        "ay": [
            "it chases all the clouds away",
            "it makes the children run and play",
            "it paints the hills in green and gray",
            "it brings a new and longer way",
        ],
        "ow": [
            "it brings the leaf, it brings the snow",
            "it tells the fields that they should grow",
            "it makes the golden candles glow",
            "it teaches rivers how to flow",
        ],
        "air": [
            "it puts a ribbon in my hair",
            "it goes around and everywhere is fair",
            "it knocks at doors to see who's there",
            "it has a gift for all to share",
        ],
        "old": [
            "it turns the leaves to red and gold",
            "it has two hands, one warm, one cold",
            "it comes to young, it comes to old",
            "it has more colours than I can hold",
        ],
        "ound": [
            "it covers all the quiet ground",
            "it turns the year, the year is round",
            "it brings back all we lost and found",
            "it wakes the seeds without a sound",
        ],
    },
    "heart": {
        "ay": [
            "we laugh together and we play",
            "I think of you and look your way",
            "there is no more that I can say",
            "a word from you can change my day",
        ],
        "ee": [
            "we share a cup of mint and tea, we three",
            "you hold the door and set me free",
            "you are the root, I am the tree",
            "you see the good that I can't see",
        ],
        "ew": [
            "the sky is wide, the sky is blue",
            "I learned the best of things from you",
            "the days are good when shared by two",
            "old jokes with you are always new",
        ],
        "air": [
            "we sing our songs into the air",
            "I turn around and you are there",
            "we sit together, chair by chair",
            "we are a small and happy pair",
        ],
        "ong": [
            "we walk together all day long",
            "you tell me gently when I'm wrong, be strong",
            "you hum for me a little song",
            "you take my hand and come along",
        ],
    },
    "thing": {
        "ight": [
            "it makes the darkest corner bright",
            "it keeps me warm, it holds me tight",
            "it flies above me like a kite",
            "I see it clear in morning light",
        ],
        "ow": [
            "it helps a little heart to grow",
            "I found it many years ago",
            "it has a warm and gentle glow",
            "it stays with me in sun and snow",
        ],
        "ee": [
            "it opens doors without a key",
            "it is a boat upon the sea",
            "it is as sweet as it can be",
            "it has a secret just for me",
        ],
        "old": [
            "it keeps me safe from wind and cold",
            "it is a joy to have and hold",
            "it knows the tales that I was told",
            "it makes me quiet, makes me bold",
        ],
        "ay": [
            "it turns to gold a day of gray",
            "I would not give this thing away",
            "it waits for me when I'm away today",
            "it is a place where I can stay",
        ],
    },
}
LINES["feeling"] = {
    "ay": [
        "it finds the words we want to say",
        "it walks with me along the way",
        "it makes the children laugh and play",
        "it wakes the heart as sun the day",
    ],
    "ight": [
        "it stays with us the longest night",
        "it makes a heavy burden light",
        "it holds our hands and holds them tight",
        "it puts the wrong things gently right",
    ],
    "ee": [
        "it opens hearts without a key",
        "it is as deep as any sea",
        "it is a gift to you and me",
        "it helps a clouded mind to see",
    ],
    "ow": [
        "it is the best of things I know",
        "it stays wherever I may go",
        "it has a warm and quiet glow",
        "it came to me so long ago",
    ],
    "old": [
        "it warms the young, it warms the old",
        "it is a thing you cannot hold",
        "it is the truest story told",
        "it makes the shyest creature bold",
    ],
}


# keep every line short and rhymed on a table word
def _clean():
    fixes = {
        "it sees the world asleep below, so slow": "it makes the rivers seem to glow",
        "there is some light for everyone's fun": "a brand new day is never done, just begun",
        "it never wants to start a fight, all right": "it likes to sit in evening light",
        "it has a leaf for everything to bring": "it has a hundred gifts to bring",
        "it goes around and everywhere is fair": "it makes the meadows green and fair",
        "it has more colours than I can hold": "it is a hand for us to hold",
        "we share a cup of mint and tea, we three": "the days are good, as days should be",
        "you tell me gently when I'm wrong, be strong": "and when I'm weak you make me strong",
        "it waits for me when I'm away today": "it helps me find a better way",
        "a brand new day is never done, just begun": "another good day has begun",
    }
    for cls in LINES.values():
        for g, ls in cls.items():
            for i, l in enumerate(ls):
                while l in fixes:
                    l = fixes[l]
                ls[i] = l


_clean()

GENERIC = {
    "ay": [
        "and so we end this happy day",
        "I keep it near me every day",
        "I have no more than this to say",
        "and that is all I want to say",
    ],
    "ight": [
        "I wish you all a good, good night",
        "and all the world will be all right",
        "I close my eyes and hold it tight",
    ],
    "ee": [
        "and that is good enough for me",
        "how good a simple thing can be",
        "the best of all good things are free",
    ],
    "ow": [
        "and now you know the things I know",
        "and so I smile and homeward go",
        "it is a thing I love to know",
    ],
    "ew": [
        "I made this little verse for you",
        "and all these simple words are true",
        "I give this little song to you",
    ],
    "air": ["I take a breath of evening air", "and in my heart it's always there"],
    "ing": ["it makes me want to dance and sing", "I wear this memory like a ring"],
    "est": ["I think that this is for the best", "and now, my friend, it's time to rest"],
    "ong": ["and this is all my little song", "the day is short, the joy is long"],
    "old": ["a little joy is more than gold", "this is the tale that I have told"],
    "ound": ["I hear it like a gentle sound", "I love this treasure that I found"],
    "ine": ["and everything will be just fine", "this little joy is yours and mine"],
    "all": ["it is a joy for one and all", "the best of gifts are often small"],
    "un": ["we had a day of light and fun", "and now, good night, the day is done, begun"],
}
GENERIC["un"][1] = "our little song has just begun"

HAIKU = {
    "the moon": ["Round moon on the lake", "The moon climbs the hill", "A thin silver moon"],
    "the rain": ["Rain on the old roof", "Soft rain in the night", "Drops fall on the leaf"],
    "the snow": ["White snow on the path", "First snow of the year", "Snow falls without sound"],
    "the sea": ["The sea breathes in sleep", "Waves roll on the sand", "Salt wind from the sea"],
    "a cat": ["The cat on the wall", "A small sleeping cat", "Two green eyes at night"],
    "a bird": ["One bird on a branch", "A bird starts to sing", "Small wings in the sun"],
    "a tree": ["The old tree stands still", "Bare tree on the hill", "Wind talks to the tree"],
    "spring": ["Spring wakes the garden", "Green buds on the branch", "Spring rain, then the sun"],
    "autumn": ["Red leaves on the ground", "Autumn paints the wood", "The last leaf lets go"],
    "the stars": ["One star in the sky", "A star falls down fast", "Stars over the roof"],
    "a river": ["The stream finds its way", "Cold river, round stones", "Blue river at dawn"],
    "a frog": ["A frog by the pond", "Green frog, then a splash", "The frog jumps and sings"],
}
HAIKU7 = [
    "the quiet world holds its breath",
    "a child looks up and then smiles",
    "the wind carries an old song",
    "light moves slowly on the wall",
    "the village sleeps under clouds",
    "nothing moves except the clock",
    "far away a bell is heard",
    "the garden waits for the sun",
    "I forget what time it is",
    "tea grows cold inside my cup",
    "my window is full of light",
    "someone laughs behind the gate",
]
HAIKU5 = [
    "and the day begins",
    "I am not alone",
    "the night is so near",
    "time stands still for me",
    "and then, all is still",
    "I breathe in and smile",
    "how soft the world is",
    "morning takes its time",
    "a new day is here",
    "the heart becomes light",
    "no one says a word",
    "I listen and wait",
]


def endword(line):
    return line.split()[-1].strip(".,;!?").lower()


def _fit(ctx, cls, group, used):
    """a line of this class and rhyme group whose end word is unused"""
    cands = [l for l in LINES[cls][group] if endword(l) not in used]
    return ctx.pick(cands) if cands else None


def _poem(ctx, n=None):
    cls = ctx.pick(list(CLASSES))
    theme = ctx.pick(CLASSES[cls])
    if n is None:
        n = ctx.wpick([(2, 2), (6, 4), (3, 6), (1.2, 8)])
    groups = ctx.shuffled(list(LINES[cls]))[: max(1, n // 2)]
    lines, used = [], set()
    slots = {"t": theme, "T": theme}
    first = ctx.expand(ctx.pick(FIRST[cls][groups[0]]), slots)
    for k, g in enumerate(groups):
        a = first if k == 0 else _fit(ctx, cls, g, used)
        if a is None:
            return None, None
        used.add(endword(a))
        b = None
        if k == n // 2 - 1 and g in GENERIC and ctx.chance(0.4):
            opts = [l for l in GENERIC[g] if endword(l) not in used]
            b = ctx.pick(opts) if opts else None
        if b is None:
            b = _fit(ctx, cls, g, used)
        if b is None:
            return None, None
        used.add(endword(b))
        lines += [a, b]
    scheme = "AABB"
    if n in (4, 8) and ctx.chance(0.3):
        scheme = "ABAB"
        out = []
        for k in range(0, n, 4):
            a1, a2, b1, b2 = lines[k : k + 4]
            out += [a1, b1, a2, b2]
        lines = out
    text = []
    for i, l in enumerate(lines):
        text.append(cap(l) + ("," if i % 2 == 0 else "."))
    key = "poem|%s|%s" % (theme, "|".join(l for l in lines[:2]))
    return key, (theme, n, scheme, text)


def _poem_ok(ctx, n=None):
    while True:
        key, it = _poem(ctx, n)
        if key:
            return key, it


ASK = [
    "Write a poem about <t>.",
    "Write a short poem about <t>.",
    "Can you write a rhyme about <t>?",
    "A poem about <t>, please.",
    "Give me some verses about <t>.",
    "Make a little poem about <t>.",
    "I would like a poem about <t>.",
]
ASKN = {
    2: [
        "Write two lines about <t> that rhyme.",
        "Write a couplet about <t>.",
        "Give me a couplet about <t>.",
    ],
    4: [
        "Write a four-line poem about <t>.",
        "Write four lines about <t>.",
        "Write a verse of four lines about <t>.",
    ],
    6: ["Write a six-line poem about <t>.", "Write six lines about <t>."],
    8: [
        "Write an eight-line poem about <t>.",
        "Write a long poem about <t>.",
        "Write eight lines about <t>.",
    ],
}


def poem_turn(ctx):
    theme, n, scheme, lines = ctx.draw(_poem_ok)
    if n == 4 and ctx.chance(0.5):
        u = ctx.expand(ctx.pick(ASK), {"t": theme})
        if scheme == "ABAB":
            u = "Write a poem about %s with the rhyme ABAB." % theme
    else:
        u = ctx.expand(ctx.pick(ASKN[n]), {"t": theme})
        if scheme == "ABAB":
            u = u[:-1] + " with the rhyme ABAB."
    sep = "\n"
    text = sep.join(lines)
    if n >= 6:
        text = "\n".join(lines[:4]) + "\n\n" + "\n".join(lines[4:])
    t = turn(
        u,
        text,
        "A poem about %s. I need %d lines, and the line ends must rhyme (%s)."
        % (theme, n, scheme[:n]),
        {"kind": "poem", "scheme": scheme},
        noise=2,
    )
    return t, theme, lines, scheme


def _haiku(ctx):
    th = ctx.pick(list(HAIKU))
    a, b, c = ctx.pick(HAIKU[th]), ctx.pick(HAIKU7), ctx.pick(HAIKU5)
    return "haiku|%s|%s|%s" % (a, b, c), (th, a, b, c)


def haiku_turn(ctx):
    th, a, b, c = ctx.draw(_haiku)
    u = (
        ctx.pick(
            [
                "Write a haiku about %s.",
                "A haiku about %s, please.",
                "Can you write a haiku about %s?",
            ]
        )
        % th
    )
    return turn(
        u,
        "%s,\n%s,\n%s." % (a, b, c),
        "A haiku has three lines with 5, 7 and 5 syllables.",
        {"kind": "haiku"},
    )


def _rhyme(ctx):
    g = ctx.pick([k for k in RHYMES if len(RHYMES[k]) >= 4])
    ws = ctx.sample([w for w in RHYMES[g] if w != "honeybee"], 4)
    return "rhyme|%s|%s" % (ws[0], ws[1]), (g, ws)


def rhyme_turn(ctx):
    g, ws = ctx.draw(_rhyme)
    x = ctx.rng.random()
    if x < 0.4:
        u = (
            ctx.pick(
                [
                    'What rhymes with "%s"?',
                    'Give me three words that rhyme with "%s".',
                    'Find rhymes for "%s".',
                ]
            )
            % ws[0]
        )
        return turn(
            u,
            join_and(ws[1:]) + ' rhyme with "%s".' % ws[0],
            '"%s" ends like "%s".' % (ws[0], ws[1]),
        )
    if x < 0.7:
        return turn(
            ctx.pick(['Do "%s" and "%s" rhyme?', 'Does "%s" rhyme with "%s"?']) % (ws[0], ws[1]),
            'Yes, "%s" and "%s" rhyme.' % (ws[0], ws[1]),
        )
    other = ctx.pick([k for k in RHYMES if k != g])
    o = ctx.pick(RHYMES[other])
    return turn(
        ctx.pick(['Do "%s" and "%s" rhyme?', 'Does "%s" rhyme with "%s"?']) % (ws[0], o),
        'No, "%s" and "%s" do not rhyme.' % (ws[0], o),
    )


def sample(ctx):
    x = ctx.rng.random()
    if x < 0.18:
        t, theme, lines, scheme = poem_turn(ctx)
        txt = t["a"]
        if ctx.chance(0.5):
            txt = cap(theme) + "\n\n" + txt
        return text_sample("poem", txt)
    if x < 0.30:
        return build(
            ctx, "poem", [haiku_turn(ctx)] + ([poem_turn(ctx)[0]] if ctx.chance(0.3) else [])
        )
    if x < 0.42:
        return build(ctx, "poem", [rhyme_turn(ctx) for _ in range(ctx.randint(1, 4))])
    t, theme, lines, scheme = poem_turn(ctx)
    turns = [t]
    if ctx.chance(0.35):
        ends = [endword(l) for l in lines]
        if scheme == "AABB" and len(ends) >= 2:
            qs = [
                (
                    "Which words rhyme in the first two lines?",
                    '"%s" and "%s".' % (ends[0], ends[1]),
                ),
                ("Read me the last line again.", lines[-1]),
                ("What is the first line?", lines[0][:-1] + "."),
                ("How many lines does the poem have?", "The poem has %d lines." % len(lines)),
                ("What is the poem about?", "The poem is about %s." % theme),
            ]
        else:
            qs = [
                (
                    "Which words rhyme with each other in lines one and three?",
                    '"%s" and "%s".' % (ends[0], ends[2]),
                ),
                ("Read me the last line again.", lines[-1]),
                ("What is the poem about?", "The poem is about %s." % theme),
            ]
        for q, a in ctx.sample(qs, ctx.randint(1, 2)):
            turns.append(turn(q, a))
    if ctx.chance(0.2):
        turns.append(poem_turn(ctx)[0])
    return build(ctx, "poem", turns)
