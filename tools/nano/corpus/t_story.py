"""Topic 1: short stories from a plot grammar."""

from core import turn, build, text_sample, cap

ANIMALS = [
    "fox",
    "rabbit",
    "bear",
    "cat",
    "dog",
    "mouse",
    "hedgehog",
    "duck",
    "goat",
    "lamb",
    "squirrel",
    "frog",
    "turtle",
    "pony",
    "pig",
    "owl",
    "otter",
    "deer",
    "kitten",
    "puppy",
    "hummingbird",
    "sparrow",
    "badger",
    "beaver",
    "hen",
    "donkey",
    "penguin",
    "seal",
    "elephant",
    "lion",
    "monkey",
    "koala",
]
PEOPLE_G = ["girl"]
PEOPLE_B = ["boy"]
GIRL_N = [
    "Mimi",
    "Lulu",
    "Nina",
    "Rosa",
    "Tia",
    "Zoe",
    "Ivy",
    "Luna",
    "Ada",
    "Nora",
    "Bella",
    "Dora",
    "Kiki",
    "Mila",
    "Lily",
    "Stella",
    "Nelly",
    "Tilly",
    "Olive",
    "Ruby",
    "Anna",
    "Emma",
    "Clara",
    "Lucy",
    "Maya",
    "Sofia",
    "Ella",
    "Mia",
]
BOY_N = [
    "Pip",
    "Tom",
    "Bo",
    "Otto",
    "Leo",
    "Max",
    "Finn",
    "Hugo",
    "Milo",
    "Kiko",
    "Toby",
    "Gus",
    "Rufus",
    "Benny",
    "Oscar",
    "Nico",
    "Theo",
    "Sam",
    "Barney",
    "Felix",
    "Ben",
    "Luca",
    "Jack",
    "Noah",
    "Adam",
    "Henry",
    "Marco",
    "Peter",
]
ADJ = [
    "little",
    "small",
    "young",
    "brave",
    "kind",
    "shy",
    "curious",
    "quiet",
    "clever",
    "cheerful",
    "gentle",
    "playful",
    "sleepy",
    "hungry",
    "merry",
    "tiny",
]
HELPERS = [
    "wise owl",
    "old turtle",
    "kind bear",
    "friendly frog",
    "grey goose",
    "gentle deer",
    "small snail",
    "busy beaver",
    "old goat",
    "white horse",
    "quick squirrel",
    "blue butterfly",
    "brown mole",
    "tall heron",
    "black crow",
    "patient donkey",
    "red robin",
    "silver fish",
    "spotted cow",
    "tiny firefly",
]
PLACES = [
    "in a green forest",
    "by a clear river",
    "on a small farm",
    "in a quiet village",
    "near the blue sea",
    "on a sunny hill",
    "in a big garden",
    "at the foot of a mountain",
    "on a little island",
    "beside a round lake",
    "at the edge of a wide field",
    "in a warm valley",
    "under an old oak tree",
    "near a stone bridge",
]
TIMES = [
    "One day",
    "One morning",
    "One sunny day",
    "One spring morning",
    "One evening",
    "One windy day",
    "One summer day",
    "One cold morning",
    "Early one day",
    "One autumn day",
]

OPEN = [
    "Once upon a time there was <a adj> <kind> named <name>. <^name> lived <place>.",
    "<^a adj> <kind> named <name> lived <place>.",
    "Once there was <a adj> <kind>. <^his> name was <name>, and <he> lived <place>.",
    "<^place> lived <a adj> <kind> named <name>.",
    "There was once <a adj> <kind> named <name> who lived <place>.",
]
END = {
    "friend": [
        "From that day on, <name> and the <hshort> were good friends.",
        "After that, <name> and the <hshort> met every day.",
        "And <name> was never lonely again.",
    ],
    "help": [
        "<^name> learned that it is good to ask for help.",
        "And <name> knew that friends make hard things easy.",
        "That night <name> slept well and dreamed of good friends.",
    ],
    "share": [
        "<^name> learned that joy grows when you share it.",
        "And they all agreed that shared food tastes best.",
        "Everyone went home happy and full.",
    ],
    "try": [
        "<^name> learned that small steps lead far.",
        "And <name> never gave up again.",
        "<^name> smiled, because trying again had worked.",
    ],
    "truth": [
        "<^name> learned that the truth makes the heart light.",
        "From then on, <name> always told the truth.",
        "And <name> felt light and happy again.",
    ],
    "patience": [
        "<^name> learned that good things need time.",
        "And <name> knew how to wait from that day on.",
        "After that, <name> was always patient.",
    ],
    "home": [
        "<^name> was happy to be home.",
        "And <name> never walked so far alone again.",
        "Home had never felt so warm.",
    ],
    "brave": [
        "<^name> felt brave and proud.",
        "And <name> was not afraid any more.",
        "From that day on, everyone called <him> {brave <name>|<name> the brave}.",
    ],
}
MORALS = {
    "friend": "Be kind, and you will find a friend.",
    "help": "It is good to ask for help.",
    "share": "Joy grows when you share it.",
    "try": "Keep trying, and you will learn.",
    "truth": "It is best to tell the truth.",
    "patience": "Good things need time.",
    "home": "Do not go too far alone.",
    "brave": "You can be brave, even when you are small.",
}
THEMES = {
    "friend": "friendship",
    "help": "helping",
    "share": "sharing",
    "try": "never giving up",
    "truth": "honesty",
    "patience": "patience",
    "home": "coming home",
    "brave": "courage",
}

# Each plot: id, moral keys, slot choices, sentences, questions (q, a), tags for asking.
PLOTS = [
    dict(
        id="lost",
        moral=["help", "friend"],
        slots={
            "x": [
                "red ball",
                "silver bell",
                "blue hat",
                "golden key",
                "green scarf",
                "small drum",
                "wooden boat",
                "warm blanket",
                "yellow kite",
                "shiny ring",
                "little lamp",
                "blue cup",
            ],
            "p1": [
                "under the bed",
                "behind the door",
                "in the tall grass",
                "in the old barn",
                "near the well",
            ],
            "p2": [
                "under a bush",
                "inside a hollow tree",
                "on a flat stone",
                "behind a big rock",
                "in an empty nest",
                "beside the path",
                "under the bridge",
            ],
        },
        ask=["who lost <a x>", "and <a x>"],
        s=[
            "<time>, <name> lost <his> <x>.",
            "{<^he> looked <p1>, but it was not there.|<^he> looked <p1>. It was not there.}",
            '{<^name> was very sad.|<^name> sat down and cried.|"Where can it be?" asked <name>.}',
            '<^a helper> came by and asked, "{What is wrong|Why are you so sad}?"',
            '"I lost my <x>," said <name>.',
            (
                '{"I saw it <p2>," said the <hshort>.|"Come with me," said the <hshort>. "I saw it'
                ' <p2>."}'
            ),
            "They {ran|walked|went} there together, and there it was!",
            '"Thank you!" said <name>.',
        ],
        qa=[
            ("What did <name> lose?", "<^name> lost <his> <x>."),
            ("Where was the <x>?", "The <x> was <p2>."),
            ("Who helped <name>?", "The <helper> helped <name>."),
        ],
    ),
    dict(
        id="wayhome",
        moral=["home", "help"],
        slots={
            "x": [
                "a butterfly",
                "a red leaf",
                "a bright bird",
                "a rolling apple",
                "a soft song",
                "a paper boat",
                "a white feather",
                "a jumping frog",
            ],
            "p1": [
                "deep into the woods",
                "over three hills",
                "far down the river",
                "across the long bridge",
                "past the old mill",
            ],
            "p2": [
                "the light of the moon",
                "the north star",
                "the smell of warm bread",
                "the sound of the bells",
                "the smoke of the chimney",
                "the line of white stones",
            ],
        },
        ask=["who got lost", "who could not find the way home", "who followed <x>"],
        s=[
            "<time>, <name> followed <x>.",
            "<^he> followed it <p1>.",
            "{Soon it was dark.|Then the sun went down.|Night came.}",
            (
                '{"I am lost!" said <name>.|<^name> did not know the way home.|"Which way is home?"'
                " asked <name>.}"
            ),
            (
                '<^a helper> heard <him>. "{Do not worry|Do not be afraid}," said the <hshort>.'
                ' "Follow <p2>."'
            ),
            "<^name> {followed <p2>, step by step|did as the <hshort> said, step by step}.",
            "{At last <he> saw the door of <his> home.|After a while <he> was home.}",
            "<^his> mother {gave <him> a big hug|hugged <him> and gave <him> warm milk}.",
        ],
        qa=[
            ("What did <name> follow first?", "<^name> followed <x>."),
            ("What showed <name> the way home?", "<^p2c> showed <name> the way home."),
            ("Who helped <name>?", "The <helper> helped <name>."),
        ],
    ),
    dict(
        id="afraid",
        moral=["brave", "help"],
        slots={
            "x": [
                "the dark",
                "loud thunder",
                "deep water",
                "high places",
                "the big wind",
                "the old cave",
                "the long bridge",
                "the snow",
            ],
            "p1": [
                "hid under a leaf",
                "closed <his> eyes",
                "stayed at home",
                "shook like a leaf",
                "ran back to <his> bed",
            ],
            "p2": [
                "hold my hand and count to ten",
                "take one small step",
                "sing a little song",
                "breathe in and breathe out",
                "look for one beautiful thing",
            ],
        },
        ask=["who was afraid of <x>", "who learned to be brave"],
        s=[
            "<^name> was afraid of <x>.",
            "{Every time, <he> <p1>.|When the others played, <he> <p1>.}",
            (
                '<time>, <a helper> saw this and said, "{I was afraid too, long ago|Everyone is'
                ' afraid of something}."'
            ),
            '"What did you do?" asked <name>.',
            '"{I learned a trick|It is easy}: <p2>," said the <hshort>.',
            (
                "<^name> tried it. {It was hard, but it worked.|The first time was hard. The second"
                " time was easy.}"
            ),
            "{Step by step, the fear became small.|The fear grew smaller and smaller.}",
            '{"Look at me!" called <name>.|"I did it!" said <name>.}',
        ],
        qa=[
            ("What was <name> afraid of?", "<^name> was afraid of <x>."),
            ("Who helped <name>?", "The <helper> helped <name>."),
            ("What did <name> say or do to be brave?", "The <hshort> told <name>: <p2>."),
        ],
    ),
    dict(
        id="share",
        moral=["share", "friend"],
        slots={
            "x": [
                "a basket of apples",
                "a big pumpkin pie",
                "a bag of nuts",
                "a pot of honey",
                "a loaf of bread",
                "a bowl of berries",
                "a box of cookies",
                "a sweet melon",
                "a pan of hot soup",
            ],
            "p1": [
                "under a tree",
                "near the path",
                "at the market",
                "in the kitchen",
                "by the gate",
            ],
            "p2": [
                "a warm place to sleep",
                "a song",
                "a bright flower",
                "a handful of seeds",
                "a soft pillow",
                "a small lantern",
            ],
        },
        ask=["who shared <x>", "and <x>"],
        s=[
            "<time>, <name> found <x> <p1>.",
            '"{All for me|I will eat it all}!" said <name>.',
            (
                'Then <a helper> came. {"I am so hungry," said the <hshort>.|The <hshort> had not'
                " eaten all day.}"
            ),
            "<^name> looked at the food and thought. {Then <he> smiled.|Then <he> nodded.}",
            '"Let us share," said <name>.',
            "{They sat down and ate together.|They ate, and it was good.}",
            (
                "{The next day|That night|In winter}, it was cold, and the <hshort> came back with"
                " <p2>."
            ),
            '"You shared with me, so I share with you," said the <hshort>.',
        ],
        qa=[
            ("What did <name> find?", "<^name> found <x>."),
            ("What did the <hshort> bring?", "The <hshort> brought <p2>."),
            ("Who was hungry?", "The <helper> was hungry."),
        ],
    ),
    dict(
        id="build",
        moral=["help", "try"],
        slots={
            "x": [
                "boat",
                "kite",
                "tree house",
                "bridge",
                "raft",
                "swing",
                "cart",
                "bird house",
                "sand castle",
                "snow hut",
            ],
            "p1": ["broke in two", "fell apart", "fell down", "came apart"],
            "p2": [
                "a strong rope",
                "a box of nails",
                "a long piece of wood",
                "some good glue",
                "a bag of clay",
                "two flat boards",
            ],
        },
        ask=["who built <a x>", "and <a x>"],
        s=[
            "<^name> wanted to build <a x>.",
            "<time>, <he> worked {all morning|for many hours|from dawn to noon}.",
            'But the <x> <p1>. {"Oh no!" said <name>.|<^name> wanted to give up.}',
            (
                '<^a helper> {was watching|stopped to look}. "{Do not stop now|Try once more},"'
                ' said the <hshort>. "I have <p2>."'
            ),
            "They worked side by side.",
            "{Before the sun went down, the <x> was ready.|In the evening the <x> was finished.}",
            "{It was strong and beautiful.|It was the best <x> of all.}",
        ],
        qa=[
            ("What did <name> want to build?", "<^name> wanted to build <a x>."),
            ("What did the <hshort> have?", "The <hshort> had <p2>."),
            ("Who helped <name>?", "The <helper> helped <name>."),
        ],
    ),
    dict(
        id="race",
        moral=["try", "brave"],
        slots={
            "x": [
                "race",
                "swimming race",
                "jumping contest",
                "singing contest",
                "climbing contest",
                "dancing contest",
            ],
            "p1": ["too slow", "too small", "too quiet", "too young"],
            "p2": [
                "every morning",
                "every evening",
                "before breakfast",
                "after school",
                "in the rain and in the sun",
            ],
        },
        ask=["and a race", "who won a contest", "who practised <p2>"],
        s=[
            "Every year there was a big <x>.",
            '"You are <p1>," the others said to <name>, and they laughed.',
            "{<^name> was sad, but <he> did not give up.|<^name> went home and thought about it.}",
            '<^a helper> said, "{Practice makes you strong|Let us practise together}."',
            "So <name> practised <p2>.",
            (
                "Then the great day came. {<^name> took a deep breath.|<^name> thought of the"
                " <hshort>.}"
            ),
            "<^he> gave <his> best, and <he> won!",
            "{Nobody laughed now.|The others clapped and cheered.}",
        ],
        qa=[
            ("What did <name> win?", "<^name> won the <x>."),
            ("When did <name> practise?", "<^name> practised <p2>."),
            ("Who helped <name>?", "The <helper> helped <name>."),
        ],
    ),
    dict(
        id="rescue",
        moral=["brave", "friend"],
        slots={
            "x": [
                "in a tall tree",
                "on a small rock",
                "in a deep hole",
                "under a fallen branch",
                "behind a wall of snow",
            ],
            "p1": ["a big storm", "a heavy rain", "a strong wind", "a long winter storm"],
            "p2": ["a long rope", "an old ladder", "a strong branch", "a big basket"],
        },
        ask=["who saved a friend", "and <p1>"],
        s=[
            "<time>, there was <p1>.",
            '<^name> heard a voice: "Help! Help!"',
            "It was <a helper>, stuck <x>.",
            (
                '{"I am small," thought <name>, "but I can try."|<^name> was afraid, but <he> did'
                " not run away.}"
            ),
            "<^he> {ran home and took|found} <p2>.",
            '{"Hold on!" called <name>.|"I am coming!" called <name>.}',
            "<^he> pulled and pulled, and the <hshort> was free.",
            (
                '{"You saved me," said the <hshort>. "Thank you!"|"Thank you, <name>!" said the'
                " <hshort>.}"
            ),
        ],
        qa=[
            ("Who was stuck?", "The <helper> was stuck."),
            ("Where was the <hshort> stuck?", "The <hshort> was stuck <x>."),
            ("What did <name> use?", "<^name> used <p2>."),
        ],
    ),
    dict(
        id="learn",
        moral=["try", "help"],
        slots={
            "x": [
                "swim",
                "sing",
                "read",
                "dance",
                "skate",
                "paint",
                "bake bread",
                "play the flute",
                "climb trees",
                "whistle",
                "ride a bike",
                "count to a hundred",
            ],
            "p1": [
                "Start slowly",
                "Do a little every day",
                "Watch me first",
                "Do not hurry",
                "Listen and try again",
            ],
            "p2": ["three days", "one week", "two weeks", "ten days", "a month"],
        },
        ask=["who wanted to <x>", "who learned to <x>"],
        s=[
            "<^name> wanted to learn to <x>.",
            (
                "<time>, <he> tried, but it did not work. {<^he> tried again and failed"
                " again.|<^he> felt very silly.}"
            ),
            '"I will never learn," said <name>.',
            '"{You will|Yes, you will}," said <a helper>. "<p1>."',
            "So <name> tried again {and again|the next day, and the next}.",
            "After <p2>, {<name> could <x>|it finally worked}!",
            "{Everyone came to see.|<^his> friends clapped.|The <hshort> was proud.}",
        ],
        qa=[
            ("What did <name> want to learn?", "<^name> wanted to learn to <x>."),
            ("How long did it take?", "It took <p2>."),
            ("Who helped <name>?", "The <helper> helped <name>."),
        ],
    ),
    dict(
        id="gift",
        moral=["share", "friend"],
        slots={
            "x": [
                "a crown of flowers",
                "a little wooden bird",
                "a paper star",
                "a picture of the sea",
                "a chain of shells",
                "a warm pair of socks",
                "a song",
                "a card with a red heart",
            ],
            "p1": [
                "<his> mother",
                "<his> grandmother",
                "<his> father",
                "<his> best friend",
                "<his> teacher",
                "<his> sister",
            ],
            "p2": ["no money", "only one coin", "an empty pocket"],
        },
        ask=["who made a gift", "and a birthday"],
        s=[
            "It was the birthday of <p1>.",
            "<^name> wanted to give a gift, but <he> had <p2>.",
            '{"What can I do?" <he> asked.|<^he> sat down and thought.}',
            '<^a helper> said, "The best gift is one you make yourself."',
            "So <name> made <x>.",
            "{It took all day.|<^he> worked until the evening.}",
            (
                '{"This is the best gift of all!"|"I love it!"} was the answer, and there was a big'
                " hug."
            ),
        ],
        qa=[
            ("What did <name> make?", "<^name> made <x>."),
            ("Whose birthday was it?", "It was the birthday of <p1>."),
            ("Who gave <name> the idea?", "The <helper> gave <name> the idea."),
        ],
    ),
    dict(
        id="truth",
        moral=["truth"],
        slots={
            "x": [
                "blue cup",
                "big window",
                "flower pot",
                "old clock",
                "glass lamp",
                "painted plate",
                "wooden chair",
                "mirror",
            ],
            "p1": [
                "while playing ball",
                "while dancing",
                "while running in the house",
                "while jumping",
            ],
            "p2": [
                "<his> mother",
                "<his> father",
                "the teacher",
                "<his> grandmother",
                "the baker",
                "the farmer",
            ],
        },
        ask=["who broke <a x>", "who told the truth"],
        s=[
            "<time>, <name> broke the <x> <p1>.",
            '{"Nobody saw me," thought <name>.|<^name> hid the pieces.}',
            "But <he> {could not sleep|could not eat|did not feel good}.",
            (
                '<^a helper> said, "{The truth is light, but a lie is heavy|Tell the truth, and you'
                ' will feel better}."'
            ),
            'So <name> went to <p2> and said, "I broke the <x>. I am sorry."',
            (
                '{"Thank you for telling me the truth," was the answer.|"I am glad that you told'
                ' me," was the answer.}'
            ),
            "Then they {fixed it together|cleaned up together}.",
        ],
        qa=[
            ("What did <name> break?", "<^name> broke the <x>."),
            ("What did <name> say?", "<^name> said that <he> was sorry."),
            ("Who told <name> to tell the truth?", "The <helper> did."),
        ],
    ),
    dict(
        id="seed",
        moral=["patience", "try"],
        slots={
            "x": [
                "sunflower",
                "pumpkin",
                "apple tree",
                "rose",
                "bean plant",
                "strawberry plant",
                "cherry tree",
                "lemon tree",
            ],
            "p1": ["one day", "three days", "one week"],
            "p2": [
                "water it and wait",
                "give it water and time",
                "sing to it and wait",
                "let it sleep in the earth",
            ],
        },
        ask=["who planted a seed", "and <a x>"],
        s=[
            "<time>, <name> planted a seed.",
            "After <p1> there was nothing to see.",
            '{"It does not work!" said <name>.|<^name> wanted to dig it up.}',
            '"{Wait|Be patient}," said <a helper>. "You must <p2>."',
            "So <name> waited. {Rain came, and then the sun.|The days went by.}",
            "One morning there was {a tiny green leaf|a small green point}.",
            "It grew and grew, and at last it was a beautiful <x>.",
        ],
        qa=[
            ("What did <name> plant?", "<^name> planted a seed."),
            ("What did it become?", "It became <a x>."),
            ("Who told <name> to wait?", "The <helper> did."),
        ],
    ),
    dict(
        id="water",
        moral=["help", "brave"],
        slots={
            "x": ["river", "well", "stream", "lake", "pond"],
            "p1": ["a big stone", "a fallen tree", "a wall of mud", "a pile of branches"],
            "p2": ["ten friends", "the whole village", "all the animals", "three strong friends"],
        },
        ask=["who found water", "and a dry <x>"],
        s=[
            "It was a hot summer, and the <x> was dry.",
            "{Everyone was thirsty.|The flowers hung their heads.}",
            '"I will find out why," said <name>.',
            "<^he> walked {up the hill|for a long time} and found <p1>. It stopped the water.",
            "<^name> pushed, but {it did not move|it was too heavy}.",
            '"One alone is weak, but many are strong," said <a helper>.',
            "So <name> called <p2>. {One, two, three, push!|They all pushed together.}",
            "The water came back, and everyone {danced|drank and cheered}.",
        ],
        qa=[
            ("What stopped the water?", "<^p1> stopped the water."),
            ("Who came to push?", "<^p2> came to push."),
            ("Why was everyone thirsty?", "The <x> was dry."),
        ],
    ),
    dict(
        id="newfriend",
        moral=["friend", "share"],
        slots={
            "x": [
                "a game of ball",
                "hide and seek",
                "a game with stones",
                "a race to the tree",
                "a round dance",
            ],
            "p1": [
                "sat alone under a tree",
                "stood alone by the fence",
                "looked at the others from far away",
            ],
            "p2": [
                "tell funny stories",
                "draw stars",
                "find the sweetest berries",
                "sing very well",
                "make paper boats",
                "jump very high",
            ],
        },
        ask=["who found a new friend", "and a new friend"],
        s=[
            "<time>, <a helper> came to live nearby.",
            "The <hshort> <p1>.",
            "{Nobody said hello.|The others did not know what to say.}",
            'But <name> went over and said, "Hello! {Do you want to play|Come and play with us}?"',
            "They played <x>, and they laughed a lot.",
            (
                "{Then they learned that the <hshort> could <p2>.|The <hshort> could <p2>, and"
                " everyone was surprised.}"
            ),
            '"I am glad that you said hello," said the <hshort>.',
        ],
        qa=[
            ("What did they play?", "They played <x>."),
            ("What could the <hshort> do?", "The <hshort> could <p2>."),
            ("Who was new?", "The <helper> was new."),
        ],
    ),
    dict(
        id="map",
        moral=["friend", "patience"],
        slots={
            "x": [
                "an old music box",
                "a bench with a view of the sea",
                "a box of seeds",
                "a book of songs",
                "a field of flowers",
                "a tree full of cherries",
                "a warm spring",
            ],
            "p1": [
                "in an old book",
                "in a bottle",
                "under the floor",
                "in a coat pocket",
                "behind a picture",
            ],
            "p2": [
                "past the mill, over the bridge and up the hill",
                "along the river, through the gate and into the wood",
                "ten steps north, five steps east and around the rock",
                "over the field, under the arch and down to the beach",
            ],
        },
        ask=["who found a map", "and a treasure"],
        s=[
            "<time>, <name> found a map <p1>.",
            '"A treasure!" {said|cried} <name>, and <he> {called|asked} <a helper> to come along.',
            "They went <p2>.",
            (
                "{The way was long, but they told each other jokes.|It was far, and they rested two"
                " times.}"
            ),
            '{"Is this the place?" asked the <hshort>.|"Here it is," said the <hshort>.}',
            "There was no gold. There was <x>.",
            '"{This is better than gold|This is a real treasure}," said <name>.',
        ],
        qa=[
            ("Where was the map?", "The map was <p1>."),
            ("What was the treasure?", "The treasure was <x>."),
            ("Who came along?", "The <helper> came along."),
        ],
    ),
    dict(
        id="bake",
        moral=["share", "help"],
        slots={
            "x": [
                "apple cake",
                "carrot soup",
                "berry pie",
                "nut bread",
                "honey cake",
                "pumpkin soup",
                "plum cake",
            ],
            "p1": ["no sugar", "no milk", "no flour", "no eggs", "no salt", "no butter"],
            "p2": [
                "a basket of wood",
                "a jar of jam",
                "a bunch of flowers",
                "a bag of nuts",
                "a fresh egg",
            ],
        },
        ask=["who made <a x>", "and <a x>"],
        s=[
            "<time>, <name> wanted to make <a x>.",
            "But there was <p1> in the house.",
            "So <name> went to <a helper> and asked for help.",
            '"I will give you what you need," said the <hshort>, "for <p2>."',
            "{<^name> ran home and brought it.|<^name> looked for it and soon came back with it.}",
            "Then <he> could {cook and stir|mix and stir and wait}.",
            "{Soon the house smelled wonderful.|What a good smell!}",
            "<^name> invited the <hshort>, and they ate the <x> together.",
        ],
        qa=[
            ("What did <name> want to make?", "<^name> wanted to make <a x>."),
            ("What did the <hshort> want?", "The <hshort> wanted <p2>."),
            ("What was missing?", "There was <p1> in the house."),
        ],
    ),
    dict(
        id="drop",
        moral=["brave", "help", "try"],
        slots={
            "x": ["a dry flower", "a small fire", "a thirsty tree", "a sad garden", "a sick bee"],
            "p1": ["one drop of water", "a few drops of water", "a little water in a leaf"],
            "p2": [
                '"You are too small," said the crow',
                '"That is not enough," said the crow',
                '"Why do you try?" asked the crow',
            ],
        },
        ask=["who carried water", "who was small but strong"],
        s=[
            "<time>, <name> saw <x>.",
            "<^he> went to the lake and came back with <p1>.",
            "{Again and again <he> went.|<^he> went back ten times, then twenty times.}",
            "<p2>.",
            '"I do what I can," said <name>.',
            (
                "<^a helper> heard this and {began to help|came to help}. Then more friends came,"
                " and more."
            ),
            "{By evening, everything was well.|In the end, many small drops were enough.}",
        ],
        qa=[
            ("What did <name> see?", "<^name> saw <x>."),
            ("What did <name> say to the crow?", '<^name> said, "I do what I can."'),
            ("Who helped <name>?", "The <helper> helped <name>."),
        ],
    ),
    dict(
        id="moon",
        moral=["patience", "friend"],
        slots={
            "x": ["the moon", "a star", "a cloud", "the rainbow", "the sun"],
            "p1": ["jumped", "climbed a tree", "climbed a high hill", "stood on a barrel"],
            "p2": [
                "in the water of the lake",
                "in a bowl of water",
                "in a round mirror",
                "in a puddle",
            ],
        },
        ask=["who wanted to touch <x>", "and <x>"],
        s=[
            "<^name> loved to look at <x>.",
            '"I want to hold it in my hands," said <name>.',
            "<time>, <he> <p1>, but {it was too far|<he> could not reach it}.",
            '{<^he> sat down and sighed.|"It will not come to me," said <name>.}',
            '"Come here and look," said <a helper>. And there it was, <p2>!',
            "{<^name> put a finger on it and laughed.|<^name> laughed with joy.}",
            '"Some things we hold with our eyes," said the <hshort>.',
        ],
        qa=[
            ("What did <name> love to look at?", "<^name> loved to look at <x>."),
            ("Where did <name> see it in the end?", "<^name> saw it <p2>."),
            ("Who showed it to <name>?", "The <helper> did."),
        ],
    ),
    dict(
        id="noise",
        moral=["brave", "friend"],
        slots={
            "x": [
                "a strange sound in the night",
                "a knock at the door",
                "a low voice in the wind",
                "a soft cry in the barn",
            ],
            "p1": ["took a lamp", "took a stick", "put on <his> coat", "called <his> dog"],
            "p2": [
                "a lost kitten",
                "a baby owl",
                "a small wet puppy",
                "a tired bird",
                "a lost lamb",
            ],
        },
        ask=["who heard a strange sound", "and <p2>"],
        s=[
            "<time>, <name> heard <x>.",
            '{"Who is there?" asked <name>. Nobody answered.|<^his> heart beat fast.}',
            "<^he> <p1> and went out.",
            'There <he> met <a helper>. "Did you hear it too?" {said|asked} the <hshort>.',
            "{They went on together.|Together they were not afraid.}",
            "Behind {a bush|the wall|a barrel} they found <p2>.",
            '"Poor little thing!" said <name>. They gave it {warm milk|food and a warm place}.',
            "Soon it slept {in peace|by the fire}.",
        ],
        qa=[
            ("What did <name> hear?", "<^name> heard <x>."),
            ("What did they find?", "They found <p2>."),
            ("Who went with <name>?", "The <helper> went with <name>."),
        ],
    ),
]

OPENING_ASK = [
    "Tell me a story about <a kind>.",
    "Tell me a short story about <a kind> <ask>.",
    "Write a story about <a kind> <ask>.",
    "Can you tell me a story about <a kind>?",
    "I want a story about <a kind> named <name>.",
    "Write a short tale about <theme>.",
    "Tell me a bedtime story about <a kind> <ask>.",
    "Make up a story about <a kind> and <a helper>.",
    "A story about <a kind>, please.",
    "Tell me a story about <theme>.",
    "Please write a story. Hero: <kind>. Name: <name>. Theme: <theme>.",
    "Tell me a story about <name> the <kind>.",
    "Story: <a kind> <ask>.",
    "Tell me a story.",
]
TITLES = ["<^name> the <^kind>", "<^name> and the <^hshort>", "The <^adj> <^kind>"]


def _slots(ctx):
    plot = ctx.pick(PLOTS)
    if ctx.chance(0.18):
        kind = ctx.pick(["girl", "boy"])
        girl = kind == "girl"
    else:
        kind = ctx.pick(ANIMALS)
        girl = kind == "hen" or (kind != "lion" and ctx.chance(0.5))
    name = ctx.pick(GIRL_N if girl else BOY_N)
    helper = ctx.pick(HELPERS)
    while helper.split()[-1] == kind:
        helper = ctx.pick(HELPERS)
    s = {
        "kind": kind,
        "name": name,
        "adj": ctx.pick(ADJ),
        "place": ctx.pick(PLACES),
        "he": "she" if girl else "he",
        "him": "her" if girl else "him",
        "his": "her" if girl else "his",
        "helper": helper,
        "hshort": helper.split()[-1],
        "time": ctx.pick(TIMES),
    }
    for k, opts in plot["slots"].items():
        s[k] = ctx.expand(ctx.pick(opts), s)
    if kind == s["adj"]:
        s["adj"] = "kind"
    s["p2c"] = s.get("p2", "")
    moral = ctx.pick(plot["moral"])
    s["theme"] = THEMES[moral]
    return plot, s, moral


def _core(ctx):
    plot, s, moral = _slots(ctx)
    key = "story|%s|%s|%s|%s" % (plot["id"], s["kind"], s["x"], s["helper"])
    body = [ctx.expand(ctx.pick(OPEN), s)]
    body += [ctx.expand(t, s) for t in plot["s"]]
    end = ctx.expand(ctx.pick(END[moral]), s)
    body.append(end)
    body = [cap(b) for b in body]
    return key, (plot, s, moral, body)


def _layout(ctx, body):
    n = len(body)
    if ctx.chance(0.55):
        return " ".join(body)
    a, b = 2, n - 2
    return "\n\n".join([" ".join(body[:a]), " ".join(body[a:b]), " ".join(body[b:])])


def story_turns(ctx):
    plot, s, moral, body = ctx.draw(_core)
    story = _layout(ctx, body)
    x = ctx.rng.random()
    if x < 0.86:
        asks = dict(s)
        asks["ask"] = ctx.expand(ctx.pick(plot["ask"]), s)
        u = ctx.expand(ctx.pick(OPENING_ASK), asks)
        a = story
        if ctx.chance(0.15):
            a = ctx.expand(ctx.pick(TITLES), s) + "\n\n" + story
    else:
        k = ctx.randint(2, 3)
        u = ctx.pick(["Finish this story: ", "Continue the story: ", "Go on: "]) + " ".join(
            body[:k]
        )
        a = " ".join(body[k:])
    turns = [
        turn(
            u,
            a,
            "The user wants a story. I will write a short one with a problem, help and a good end.",
            noise=1,
        )
    ]
    if ctx.chance(0.38):
        qs = [(ctx.expand(q, s), cap(ctx.expand(an, s))) for q, an in plot["qa"]]
        qs += [
            ("What is the moral of the story?", MORALS[moral]),
            (
                "What is the name of the %s?" % s["kind"],
                "The %s is called %s." % (s["kind"], s["name"]),
            ),
            ("Where did %s live?" % s["name"], "%s lived %s." % (s["name"], s["place"])),
            ("Give the story a title.", ctx.expand(TITLES[1], s)),
            ("Who is the hero of the story?", "The hero is %s the %s." % (s["name"], s["kind"])),
            ("How does the story end?", body[-1]),
        ]
        for q, an in ctx.sample(qs, ctx.randint(1, 3)):
            turns.append(turn(q, an))
    return turns


def sample(ctx):
    if ctx.chance(0.22):
        plot, s, moral, body = ctx.draw(_core)
        t = _layout(ctx, body)
        if ctx.chance(0.4):
            t = ctx.expand(ctx.pick(TITLES), s) + "\n\n" + t
        if ctx.chance(0.3):
            t += "\n\nMoral: " + MORALS[moral]
        return text_sample("story", t)
    return build(ctx, "story", story_turns(ctx))
