"""Shared word tables."""

GIRLS = (
    "Anna Ada Bella Clara Dora Ella Emma Eva Gina Iris Ivy Julia Kira Lena Lily Lucy Luna "
    "Maya Mia Mina Nina Nora Olga Paula Rita Rosa Sara Sofia Tara Tina Vera Zoe"
).split()
BOYS = (
    "Adam Alex Ben Carl Dan David Eric Felix Finn Gino Henry Hugo Ivan Jack Jonas Leo Luca "
    "Marco Max Milo Nico Noah Omar Oscar Paul Peter Remo Sam Tom Toby Victor Will"
).split()
NAMES = [n for p in zip(GIRLS, BOYS) for n in p]

CITIES = (
    "Rome Paris London Berlin Madrid Lisbon Vienna Athens Oslo Dublin Prague Warsaw Milan "
    "Turin Naples Venice Florence Bologna Lyon Porto Seville Hamburg Munich Geneva Zurich "
    "Boston Chicago Denver Seattle Toronto Tokyo Kyoto Osaka Beijing Shanghai Seoul Delhi "
    "Cairo Nairobi Lagos Sydney Lima Bogota Quito Havana"
).split()

FRUITS = "apple pear plum peach cherry lemon orange banana grape melon fig kiwi mango lime".split()
VEG = "carrot potato tomato onion bean pea leek cabbage pumpkin cucumber pepper radish".split()
ANIMALS = (
    "cat dog fox bear wolf lion tiger horse cow goat sheep pig rabbit mouse duck goose hen "
    "owl eagle crow frog turtle snake fish whale dolphin shark bee ant spider monkey "
    "elephant giraffe zebra camel deer squirrel hedgehog otter seal"
).split()
COLORS = "red blue green yellow white black orange purple brown pink grey gold silver".split()
OBJECTS = (
    "book pen cup lamp ball box bag hat coat shoe chair table clock key bell kite boat "
    "basket mirror spoon plate bottle candle brush rope drum flute pencil blanket ring "
    "coin stone map ladder bucket pillow umbrella"
).split()
SHOP = {
    "apple": 1,
    "pear": 1,
    "lemon": 1,
    "cake": 8,
    "pen": 2,
    "book": 9,
    "cup": 4,
    "lamp": 20,
    "ball": 5,
    "bag": 15,
    "hat": 12,
    "coat": 45,
    "chair": 30,
    "clock": 18,
    "kite": 7,
    "candle": 3,
    "brush": 4,
    "drum": 40,
    "flute": 35,
    "pencil": 1,
    "blanket": 25,
    "plate": 6,
}
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = (
    "January February March April May June July August September October November December"
).split()
MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
JOBS = (
    "baker teacher doctor farmer driver painter singer pilot cook gardener nurse writer "
    "builder dentist sailor tailor"
).split()
HOBBIES = (
    "reading swimming painting singing cooking running fishing dancing gardening chess "
    "hiking skating"
).split()

# words for spelling / reversing / counting letters: short and common, no proper names
SIMPLE = (
    "apple bread chair table house mouse cloud river stone green black white brown sugar "
    "water light night train plane tiger zebra lemon melon peach grape music piano drum "
    "flute paper pencil book pen cup lamp ball box bag hat coat shoe clock key bell kite "
    "boat road tree leaf root seed rose lily corn rice milk egg cake soup salt fish bird "
    "cat dog fox bear wolf lion horse cow goat sheep pig duck goose hen owl frog snake "
    "whale bee ant spider monkey camel deer sun moon star sky rain snow wind storm fire "
    "ice sand sea lake hill mountain forest garden farm field city town street bridge "
    "door window wall roof floor room bed sofa desk shelf mirror spoon fork knife plate "
    "bottle glass candle brush rope ring coin map ladder bucket pillow summer winter "
    "spring autumn morning evening friend family mother father sister brother baby child "
    "school teacher doctor farmer baker driver singer writer painter happy sad big small "
    "tall short long fast slow hot cold warm cool new old young good bad kind brave quiet "
    "loud soft hard clean dirty full empty open closed early late red blue yellow orange "
    "purple pink gray silver gold one two three four five six seven eight nine ten run "
    "walk jump swim fly sing dance read write draw paint cook bake eat drink sleep wake "
    "laugh smile cry help give take make find lose open close start stop play work learn "
    "think know ask answer begin end wait come stay leave bring carry build break clean "
    "count spell sort list word letter number story poem song game lesson idea dream "
    "planet rocket robot engine expert cache memory disk model token layer router"
).split()
_seen = []
for _w in SIMPLE:
    if _w not in _seen:
        _seen.append(_w)
SIMPLE = _seen
