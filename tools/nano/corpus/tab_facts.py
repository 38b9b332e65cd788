"""Fact tables (topic 4)."""

# country: (capital, continent, main language or "")
COUNTRIES = {
    "Italy": ("Rome", "Europe", "Italian"),
    "France": ("Paris", "Europe", "French"),
    "Spain": ("Madrid", "Europe", "Spanish"),
    "Germany": ("Berlin", "Europe", "German"),
    "Portugal": ("Lisbon", "Europe", "Portuguese"),
    "Greece": ("Athens", "Europe", "Greek"),
    "Austria": ("Vienna", "Europe", "German"),
    "Poland": ("Warsaw", "Europe", "Polish"),
    "Hungary": ("Budapest", "Europe", "Hungarian"),
    "Sweden": ("Stockholm", "Europe", "Swedish"),
    "Norway": ("Oslo", "Europe", "Norwegian"),
    "Denmark": ("Copenhagen", "Europe", "Danish"),
    "Finland": ("Helsinki", "Europe", "Finnish"),
    "Iceland": ("Reykjavik", "Europe", "Icelandic"),
    "Ireland": ("Dublin", "Europe", ""),
    "the United Kingdom": ("London", "Europe", "English"),
    "Belgium": ("Brussels", "Europe", ""),
    "the Netherlands": ("Amsterdam", "Europe", "Dutch"),
    "Switzerland": ("Bern", "Europe", ""),
    "the Czech Republic": ("Prague", "Europe", "Czech"),
    "Slovakia": ("Bratislava", "Europe", "Slovak"),
    "Slovenia": ("Ljubljana", "Europe", "Slovene"),
    "Croatia": ("Zagreb", "Europe", "Croatian"),
    "Serbia": ("Belgrade", "Europe", "Serbian"),
    "Romania": ("Bucharest", "Europe", "Romanian"),
    "Bulgaria": ("Sofia", "Europe", "Bulgarian"),
    "Albania": ("Tirana", "Europe", "Albanian"),
    "Estonia": ("Tallinn", "Europe", "Estonian"),
    "Latvia": ("Riga", "Europe", "Latvian"),
    "Lithuania": ("Vilnius", "Europe", "Lithuanian"),
    "Ukraine": ("Kyiv", "Europe", "Ukrainian"),
    "Malta": ("Valletta", "Europe", ""),
    "China": ("Beijing", "Asia", "Chinese"),
    "Japan": ("Tokyo", "Asia", "Japanese"),
    "India": ("New Delhi", "Asia", ""),
    "South Korea": ("Seoul", "Asia", "Korean"),
    "North Korea": ("Pyongyang", "Asia", "Korean"),
    "Thailand": ("Bangkok", "Asia", "Thai"),
    "Vietnam": ("Hanoi", "Asia", "Vietnamese"),
    "the Philippines": ("Manila", "Asia", ""),
    "Nepal": ("Kathmandu", "Asia", "Nepali"),
    "Mongolia": ("Ulaanbaatar", "Asia", "Mongolian"),
    "Iran": ("Tehran", "Asia", "Persian"),
    "Iraq": ("Baghdad", "Asia", "Arabic"),
    "Saudi Arabia": ("Riyadh", "Asia", "Arabic"),
    "Jordan": ("Amman", "Asia", "Arabic"),
    "Lebanon": ("Beirut", "Asia", "Arabic"),
    "Qatar": ("Doha", "Asia", "Arabic"),
    "Pakistan": ("Islamabad", "Asia", ""),
    "Bangladesh": ("Dhaka", "Asia", "Bengali"),
    "Afghanistan": ("Kabul", "Asia", ""),
    "Cambodia": ("Phnom Penh", "Asia", "Khmer"),
    "Laos": ("Vientiane", "Asia", "Lao"),
    "Bhutan": ("Thimphu", "Asia", ""),
    "Uzbekistan": ("Tashkent", "Asia", "Uzbek"),
    "Egypt": ("Cairo", "Africa", "Arabic"),
    "Morocco": ("Rabat", "Africa", ""),
    "Algeria": ("Algiers", "Africa", ""),
    "Tunisia": ("Tunis", "Africa", "Arabic"),
    "Libya": ("Tripoli", "Africa", "Arabic"),
    "Kenya": ("Nairobi", "Africa", ""),
    "Ethiopia": ("Addis Ababa", "Africa", ""),
    "Ghana": ("Accra", "Africa", "English"),
    "Senegal": ("Dakar", "Africa", "French"),
    "Nigeria": ("Abuja", "Africa", "English"),
    "Uganda": ("Kampala", "Africa", ""),
    "Rwanda": ("Kigali", "Africa", ""),
    "Zambia": ("Lusaka", "Africa", "English"),
    "Zimbabwe": ("Harare", "Africa", ""),
    "Mali": ("Bamako", "Africa", ""),
    "Angola": ("Luanda", "Africa", "Portuguese"),
    "Namibia": ("Windhoek", "Africa", "English"),
    "Madagascar": ("Antananarivo", "Africa", ""),
    "Mozambique": ("Maputo", "Africa", "Portuguese"),
    "the United States": ("Washington", "North America", "English"),
    "Canada": ("Ottawa", "North America", ""),
    "Mexico": ("Mexico City", "North America", "Spanish"),
    "Cuba": ("Havana", "North America", "Spanish"),
    "Jamaica": ("Kingston", "North America", "English"),
    "Panama": ("Panama City", "North America", "Spanish"),
    "Costa Rica": ("San Jose", "North America", "Spanish"),
    "Honduras": ("Tegucigalpa", "North America", "Spanish"),
    "Nicaragua": ("Managua", "North America", "Spanish"),
    "Brazil": ("Brasilia", "South America", "Portuguese"),
    "Argentina": ("Buenos Aires", "South America", "Spanish"),
    "Chile": ("Santiago", "South America", "Spanish"),
    "Peru": ("Lima", "South America", "Spanish"),
    "Colombia": ("Bogota", "South America", "Spanish"),
    "Ecuador": ("Quito", "South America", "Spanish"),
    "Uruguay": ("Montevideo", "South America", "Spanish"),
    "Paraguay": ("Asuncion", "South America", ""),
    "Venezuela": ("Caracas", "South America", "Spanish"),
    "Australia": ("Canberra", "Oceania", "English"),
    "New Zealand": ("Wellington", "Oceania", "English"),
    "Fiji": ("Suva", "Oceania", ""),
}

# animal: (class, legs, food type, sound verb or "", baby or "", home or "")
ANIMALS = {
    "cat": ("mammal", 4, "meat", "meows", "kitten", "a house"),
    "dog": ("mammal", 4, "", "barks", "puppy", "a kennel"),
    "cow": ("mammal", 4, "plants", "moos", "calf", "a barn"),
    "horse": ("mammal", 4, "plants", "neighs", "foal", "a stable"),
    "sheep": ("mammal", 4, "plants", "bleats", "lamb", "a barn"),
    "pig": ("mammal", 4, "", "oinks", "piglet", "a sty"),
    "goat": ("mammal", 4, "plants", "bleats", "kid", "a barn"),
    "lion": ("mammal", 4, "meat", "roars", "cub", "a den"),
    "tiger": ("mammal", 4, "meat", "roars", "cub", "a den"),
    "wolf": ("mammal", 4, "meat", "howls", "pup", "a den"),
    "bear": ("mammal", 4, "", "growls", "cub", "a den"),
    "fox": ("mammal", 4, "", "barks", "cub", "a den"),
    "rabbit": ("mammal", 4, "plants", "", "kit", "a burrow"),
    "mouse": ("mammal", 4, "", "squeaks", "pup", "a hole"),
    "elephant": ("mammal", 4, "plants", "trumpets", "calf", ""),
    "giraffe": ("mammal", 4, "plants", "", "calf", ""),
    "zebra": ("mammal", 4, "plants", "", "foal", ""),
    "deer": ("mammal", 4, "plants", "", "fawn", "a forest"),
    "donkey": ("mammal", 4, "plants", "brays", "foal", "a stable"),
    "kangaroo": ("mammal", "", "plants", "", "joey", ""),
    "whale": ("mammal", 0, "", "", "calf", "the sea"),
    "dolphin": ("mammal", 0, "meat", "clicks", "calf", "the sea"),
    "bat": ("mammal", "", "", "squeaks", "pup", "a cave"),
    "seal": ("mammal", 0, "meat", "barks", "pup", "the sea"),
    "camel": ("mammal", 4, "plants", "", "calf", "the desert"),
    "squirrel": ("mammal", 4, "", "", "kit", "a tree"),
    "hen": ("bird", 2, "", "clucks", "chick", "a coop"),
    "duck": ("bird", 2, "", "quacks", "duckling", "a pond"),
    "goose": ("bird", 2, "plants", "honks", "gosling", "a pond"),
    "owl": ("bird", 2, "meat", "hoots", "owlet", "a tree"),
    "eagle": ("bird", 2, "meat", "", "eaglet", "a nest"),
    "swan": ("bird", 2, "plants", "", "cygnet", "a lake"),
    "crow": ("bird", 2, "", "caws", "chick", "a nest"),
    "penguin": ("bird", 2, "meat", "", "chick", "the ice"),
    "hummingbird": ("bird", 2, "", "hums", "chick", "a nest"),
    "parrot": ("bird", 2, "plants", "", "chick", "a forest"),
    "rooster": ("bird", 2, "", "crows", "", "a coop"),
    "pigeon": ("bird", 2, "plants", "coos", "chick", "a city"),
    "shark": ("fish", 0, "meat", "", "pup", "the sea"),
    "salmon": ("fish", 0, "meat", "", "", "a river"),
    "trout": ("fish", 0, "meat", "", "", "a river"),
    "tuna": ("fish", 0, "meat", "", "", "the sea"),
    "goldfish": ("fish", 0, "", "", "", "a fish tank"),
    "frog": ("amphibian", 4, "meat", "croaks", "tadpole", "a pond"),
    "toad": ("amphibian", 4, "meat", "croaks", "tadpole", ""),
    "snake": ("reptile", 0, "meat", "hisses", "", "a hole"),
    "turtle": ("reptile", 4, "", "", "", ""),
    "lizard": ("reptile", 4, "", "", "", ""),
    "crocodile": ("reptile", 4, "meat", "", "", "a river"),
    "bee": ("insect", 6, "", "buzzes", "larva", "a hive"),
    "ant": ("insect", 6, "", "", "larva", "an anthill"),
    "butterfly": ("insect", 6, "", "", "caterpillar", ""),
    "fly": ("insect", 6, "", "buzzes", "maggot", ""),
    "beetle": ("insect", 6, "", "", "larva", ""),
    "grasshopper": ("insect", 6, "plants", "chirps", "nymph", "the grass"),
    "spider": ("arachnid", 8, "meat", "", "spiderling", "a web"),
    "scorpion": ("arachnid", 8, "meat", "", "", "the desert"),
}

THING_COLOR = {
    "the sky on a clear day": "blue",
    "grass": "green",
    "snow": "white",
    "coal": "black",
    "a lemon": "yellow",
    "a ripe tomato": "red",
    "a carrot": "orange",
    "milk": "white",
    "blood": "red",
    "a banana": "yellow",
    "chocolate": "brown",
    "an elephant": "gray",
    "a flamingo": "pink",
    "a ripe strawberry": "red",
    "a cucumber": "green",
    "a pea": "green",
    "a crow": "black",
    "a polar bear": "white",
    "a sunflower": "yellow",
    "rice": "white",
    "a frog": "green",
    "an orange": "orange",
    "a fire engine": "red",
    "a ripe cherry": "red",
    "a pumpkin": "orange",
    "spinach": "green",
    "salt": "white",
    "a canary": "yellow",
    "an eggplant": "purple",
    "a ruby": "red",
    "an emerald": "green",
    "a sapphire": "blue",
}
MIX = {
    ("red", "yellow"): "orange",
    ("blue", "yellow"): "green",
    ("red", "blue"): "purple",
    ("red", "white"): "pink",
    ("black", "white"): "gray",
}

OPPOSITES = [
    p.split("/")
    for p in (
        "big/small hot/cold up/down left/right day/night black/white fast/slow happy/sad"
        " open/closed full/empty long/short old/young high/low light/dark hard/soft wet/dry"
        " rich/poor strong/weak early/late in/out good/bad clean/dirty near/far heavy/light-weight"
        " loud/quiet first/last front/back inside/outside start/finish push/pull win/lose buy/sell"
        " come/go give/take love/hate true/false right-answer/wrong-answer easy/difficult"
        " thick/thin wide/narrow deep/shallow sweet/bitter smooth/rough sharp/blunt"
        " tall/short-person north/south east/west above/below before/after always/never all/none"
        " more/less best/worst top/bottom male/female brave/cowardly awake/asleep alive/dead"
        " begin/end enter/exit laugh/cry remember/forget question/answer friend/enemy peace/war"
        " summer/winter morning/evening yes/no on/off arrive/leave ask/reply increase/decrease"
        " lend/borrow raise/lower accept/refuse float/sink build/destroy find/hide polite/rude"
        " safe/dangerous simple/complex possible/impossible visible/invisible lucky/unlucky"
        " kind/unkind honest/dishonest maximum/minimum"
    ).split()
]
_skip = {"light-weight", "right-answer", "wrong-answer", "short-person", "reply", "hide"}
OPPOSITES = [(a, b) for a, b in OPPOSITES if a not in _skip and b not in _skip]
# keep only one pair per word so that every answer is unique
_used, _pairs = set(), []
for _a, _b in OPPOSITES:
    if _a not in _used and _b not in _used:
        _pairs.append((_a, _b))
        _used.update((_a, _b))
OPPOSITES = _pairs

SYNONYMS = [
    p.split("/")
    for p in (
        "big/large quick/fast happy/glad begin/start end/finish small/little smart/clever"
        " scared/afraid shut/close ill/sick hard/difficult error/mistake gift/present answer/reply"
        " quiet/silent odd/strange angry/mad pretty/beautiful rich/wealthy home/house shop/store"
        " road/street stone/rock sea/ocean doctor/physician car/automobile tired/sleepy"
        " near/close-by jump/leap speak/talk look/watch hurry/rush choose/select buy/purchase"
        " help/aid correct/right total/sum brave/courageous wonderful/great cold/chilly"
        " center/middle idea/thought job/work child/kid photo/picture story/tale pal/friend"
    ).split()
]
SYNONYMS = [(a, b) for a, b in SYNONYMS if "-" not in b]

PLANETS = ["Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"]
ELEMENTS = [
    ("hydrogen", "H", 1),
    ("helium", "He", 2),
    ("lithium", "Li", 3),
    ("beryllium", "Be", 4),
    ("boron", "B", 5),
    ("carbon", "C", 6),
    ("nitrogen", "N", 7),
    ("oxygen", "O", 8),
    ("fluorine", "F", 9),
    ("neon", "Ne", 10),
    ("sodium", "Na", 11),
    ("magnesium", "Mg", 12),
    ("aluminium", "Al", 13),
    ("silicon", "Si", 14),
    ("phosphorus", "P", 15),
    ("sulfur", "S", 16),
    ("chlorine", "Cl", 17),
    ("argon", "Ar", 18),
    ("potassium", "K", 19),
    ("calcium", "Ca", 20),
    ("titanium", "Ti", 22),
    ("chromium", "Cr", 24),
    ("manganese", "Mn", 25),
    ("iron", "Fe", 26),
    ("cobalt", "Co", 27),
    ("nickel", "Ni", 28),
    ("copper", "Cu", 29),
    ("zinc", "Zn", 30),
    ("silver", "Ag", 47),
    ("tin", "Sn", 50),
    ("iodine", "I", 53),
    ("platinum", "Pt", 78),
    ("gold", "Au", 79),
    ("mercury", "Hg", 80),
    ("lead", "Pb", 82),
    ("uranium", "U", 92),
]
FORMULAS = [
    ("water", "H2O"),
    ("table salt", "NaCl"),
    ("carbon dioxide", "CO2"),
    ("oxygen gas", "O2"),
    ("methane", "CH4"),
    ("ammonia", "NH3"),
    ("ozone", "O3"),
    ("carbon monoxide", "CO"),
    ("hydrogen gas", "H2"),
    ("nitrogen gas", "N2"),
    ("rust", "Fe2O3"),
    ("sulfuric acid", "H2SO4"),
]
UNITS = [
    ("seconds", "a minute", 60),
    ("minutes", "an hour", 60),
    ("hours", "a day", 24),
    ("days", "a week", 7),
    ("months", "a year", 12),
    ("days", "a normal year", 365),
    ("days", "a leap year", 366),
    ("years", "a century", 100),
    ("years", "a decade", 10),
    ("centimeters", "a meter", 100),
    ("meters", "a kilometer", 1000),
    ("grams", "a kilogram", 1000),
    ("millimeters", "a centimeter", 10),
    ("milliliters", "a liter", 1000),
    ("weeks", "a year", 52),
    ("cents", "a euro", 100),
    ("inches", "a foot", 12),
    ("eggs", "a dozen", 12),
    ("sides", "a triangle", 3),
    ("sides", "a square", 4),
    ("sides", "a pentagon", 5),
    ("sides", "a hexagon", 6),
    ("sides", "an octagon", 8),
    ("faces", "a cube", 6),
    ("edges", "a cube", 12),
    ("corners", "a cube", 8),
    ("players", "a football team on the field", 11),
    ("letters", "the English alphabet", 26),
    ("vowels", "the English alphabet", 5),
    ("strings", "a violin", 4),
    ("colors", "a rainbow", 7),
    ("bits", "a byte", 8),
    ("continents", "the world", 7),
    ("planets", "the solar system", 8),
    ("degrees", "a right angle", 90),
    ("degrees", "a full circle", 360),
    ("wheels", "a bicycle", 2),
    ("wheels", "a tricycle", 3),
    ("fingers", "one hand", 5),
    ("squares", "a chess board", 64),
    ("teeth", "the mouth of most adults", 32),
    ("keys", "a normal piano", 88),
    ("bytes", "a kibibyte", 1024),
]
PLURALS = [
    p.split("/")
    for p in (
        "child/children mouse/mice goose/geese foot/feet tooth/teeth man/men woman/women"
        " sheep/sheep leaf/leaves knife/knives wolf/wolves ox/oxen person/people box/boxes"
        " city/cities baby/babies dog/dogs book/books bus/buses dish/dishes tomato/tomatoes"
        " lady/ladies watch/watches day/days key/keys life/lives half/halves shelf/shelves"
        " cherry/cherries fox/foxes berry/berries bench/benches brush/brushes story/stories"
        " party/parties glass/glasses hero/heroes loaf/loaves"
    ).split()
]
PASTS = [
    p.split("/")
    for p in (
        "go/went see/saw eat/ate run/ran write/wrote take/took give/gave come/came make/made"
        " find/found buy/bought think/thought sing/sang swim/swam drink/drank begin/began know/knew"
        " fly/flew grow/grew draw/drew break/broke speak/spoke drive/drove ride/rode fall/fell"
        " feel/felt keep/kept leave/left lose/lost meet/met pay/paid say/said sell/sold send/sent"
        " sit/sat sleep/slept stand/stood teach/taught tell/told win/won catch/caught bring/brought"
        " build/built walk/walked play/played jump/jumped work/worked help/helped cook/cooked"
        " open/opened love/loved stop/stopped try/tried carry/carried study/studied call/called"
        " wait/waited smile/smiled"
    ).split()
]
JOBS = [
    ("bakes bread", "baker"),
    ("teaches students", "teacher"),
    ("grows food on a farm", "farmer"),
    ("flies a plane", "pilot"),
    ("treats sick people", "doctor"),
    ("treats sick animals", "vet"),
    ("fixes teeth", "dentist"),
    ("puts out fires", "firefighter"),
    ("builds houses", "builder"),
    ("cuts hair", "hairdresser"),
    ("paints pictures", "painter"),
    ("writes books", "writer"),
    ("makes clothes", "tailor"),
    ("sells meat", "butcher"),
    ("catches fish", "fisher"),
    ("repairs cars", "mechanic"),
    ("cooks meals in a restaurant", "cook"),
    ("decides cases in a court", "judge"),
    ("plans buildings", "architect"),
    ("repairs water pipes", "plumber"),
    ("works with wood", "carpenter"),
    ("studies the stars", "astronomer"),
    ("writes computer programs", "programmer"),
    ("looks after a garden", "gardener"),
    ("serves food in a restaurant", "waiter"),
    ("travels in space", "astronaut"),
    ("brings letters", "mail carrier"),
    ("takes photos", "photographer"),
    ("sails on ships", "sailor"),
    ("makes things from iron", "blacksmith"),
]
TOOLS = [
    ("cut paper", "scissors"),
    ("drive a nail", "a hammer"),
    ("see far stars", "a telescope"),
    ("see very small things", "a microscope"),
    ("measure temperature", "a thermometer"),
    ("tell the time", "a clock"),
    ("sweep the floor", "a broom"),
    ("open a lock", "a key"),
    ("eat soup", "a spoon"),
    ("dig a hole", "a shovel"),
    ("find north", "a compass"),
    ("cut bread", "a knife"),
    ("write on paper", "a pen"),
    ("stay dry in the rain", "an umbrella"),
    ("brush your hair", "a hairbrush"),
    ("measure weight", "a scale"),
    ("measure length", "a ruler"),
    ("catch fish", "a net"),
    ("turn a screw", "a screwdriver"),
    ("cut wood", "a saw"),
    ("dry yourself", "a towel"),
    ("carry water", "a bucket"),
    ("climb to a high place", "a ladder"),
    ("boil water", "a kettle"),
    ("keep food cold", "a fridge"),
    ("wash your hands", "soap"),
    ("take a picture", "a camera"),
]
SENSES = [
    ("see", "eyes"),
    ("hear", "ears"),
    ("smell", "nose"),
    ("taste", "tongue"),
    ("touch things", "skin"),
    ("think", "brain"),
    ("walk", "legs"),
    ("chew", "teeth"),
    ("breathe", "lungs"),
]
# (question variants, short answer, full sentence)
SINGLE = [
    (
        [
            "What is the largest planet?",
            "Which planet is the biggest?",
            "Name the biggest planet in the solar system.",
        ],
        "Jupiter",
        "Jupiter is the largest planet.",
    ),
    (
        ["What is the smallest planet?", "Which planet is the smallest?"],
        "Mercury",
        "Mercury is the smallest planet.",
    ),
    (
        ["Which planet is called the red planet?", "What is the red planet?"],
        "Mars",
        "Mars is called the red planet.",
    ),
    (
        ["Which planet has big rings?", "Which planet is famous for its rings?"],
        "Saturn",
        "Saturn is famous for its rings.",
    ),
    (["Which planet do we live on?", "What is our planet called?"], "Earth", "We live on Earth."),
    (
        ["What is the hottest planet?", "Which planet is the hottest?"],
        "Venus",
        "Venus is the hottest planet.",
    ),
    (
        ["What star is nearest to Earth?", "Which star is closest to us?"],
        "the Sun",
        "The Sun is the star nearest to Earth.",
    ),
    (
        ["What goes around the Earth?", "What is Earth's natural satellite?"],
        "the Moon",
        "The Moon goes around the Earth.",
    ),
    (
        ["What is the largest ocean?", "Which ocean is the biggest?"],
        "the Pacific Ocean",
        "The Pacific Ocean is the largest ocean.",
    ),
    (
        ["What is the largest continent?", "Which continent is the biggest?"],
        "Asia",
        "Asia is the largest continent.",
    ),
    (["What is the smallest continent?"], "Australia", "Australia is the smallest continent."),
    (
        ["What is the highest mountain?", "Which mountain is the tallest in the world?"],
        "Mount Everest",
        "Mount Everest is the highest mountain.",
    ),
    (
        ["What is the largest animal?", "Which animal is the biggest?"],
        "the blue whale",
        "The blue whale is the largest animal.",
    ),
    (
        ["What is the tallest animal?", "Which animal is the tallest?"],
        "the giraffe",
        "The giraffe is the tallest animal.",
    ),
    (
        ["What is the fastest land animal?", "Which land animal is the fastest?"],
        "the cheetah",
        "The cheetah is the fastest land animal.",
    ),
    (
        ["What is the largest land animal?"],
        "the elephant",
        "The elephant is the largest land animal.",
    ),
    (
        ["What is the largest bird?", "Which bird is the biggest?"],
        "the ostrich",
        "The ostrich is the largest bird.",
    ),
    (
        ["What is the smallest bird?", "Which bird is the smallest?"],
        "the hummingbird",
        "The smallest bird is a hummingbird.",
    ),
    (["What do bees make?", "Which food do bees make?"], "honey", "Bees make honey."),
    (
        ["What do cows give us to drink?", "Which drink comes from cows?"],
        "milk",
        "Cows give us milk.",
    ),
    (
        ["What do caterpillars become?", "What does a caterpillar turn into?"],
        "butterflies",
        "Caterpillars become butterflies.",
    ),
    (
        ["What do plants need to grow?", "What does a plant need?"],
        "light, water and air",
        "Plants need light, water and air.",
    ),
    (
        ["What gas do we breathe in to live?", "Which gas do people need to breathe?"],
        "oxygen",
        "We need oxygen to live.",
    ),
    (
        ["At what temperature does water freeze?", "When does water freeze?"],
        "0 degrees Celsius",
        "Water freezes at 0 degrees Celsius.",
    ),
    (
        ["At what temperature does water boil?", "When does water boil at sea level?"],
        "100 degrees Celsius",
        "Water boils at 100 degrees Celsius at sea level.",
    ),
    (
        ["What is frozen water called?", "What do we call frozen water?"],
        "ice",
        "Frozen water is called ice.",
    ),
    (
        ["Where does the sun rise?", "In which direction does the sun rise?"],
        "in the east",
        "The sun rises in the east.",
    ),
    (
        ["Where does the sun set?", "In which direction does the sun set?"],
        "in the west",
        "The sun sets in the west.",
    ),
    (["How many legs does a normal chair have?"], "four", "A normal chair has four legs."),
    (
        ["Which instrument has 88 keys?", "What instrument has black and white keys?"],
        "the piano",
        "The piano has 88 keys.",
    ),
    (
        ["What is the first month of the year?", "Which month comes first?"],
        "January",
        "January is the first month of the year.",
    ),
    (
        ["What is the last month of the year?", "Which month comes last?"],
        "December",
        "December is the last month of the year.",
    ),
    (
        ["Which month is the shortest?", "What is the shortest month?"],
        "February",
        "February is the shortest month.",
    ),
    (["What is the first letter of the alphabet?"], "A", "The first letter of the alphabet is A."),
    (["What is the last letter of the alphabet?"], "Z", "The last letter of the alphabet is Z."),
    (
        ["What are the primary colors of paint?", "Name the three primary colors."],
        "red, yellow and blue",
        "The primary colors are red, yellow and blue.",
    ),
    (
        ["What are the four seasons?", "Name the four seasons."],
        "spring, summer, autumn and winter",
        "The four seasons are spring, summer, autumn and winter.",
    ),
    (
        ["Name the days of the week.", "What are the days of the week?"],
        "Monday to Sunday",
        "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday and Sunday.",
    ),
    (
        [
            "Name the planets.",
            "What are the planets of the solar system?",
            "List the planets in order.",
        ],
        "eight planets",
        "Mercury, Venus, Earth, Mars, Jupiter, Saturn, Uranus and Neptune.",
    ),
    (
        ["What are the vowels?", "Name the vowels.", "Which letters are vowels?"],
        "a, e, i, o, u",
        "The vowels are a, e, i, o and u.",
    ),
    (
        ["What are the four directions?", "Name the four main directions."],
        "north, south, east and west",
        "The four directions are north, south, east and west.",
    ),
    (
        ["What are the five senses?", "Name the five senses."],
        "five senses",
        "The five senses are sight, hearing, smell, taste and touch.",
    ),
    (
        ["What are the three states of matter?", "Name three states of matter."],
        "solid, liquid and gas",
        "Three states of matter are solid, liquid and gas.",
    ),
    (
        ["Which organ pumps blood?", "What does the heart do?"],
        "the heart",
        "The heart pumps blood through the body.",
    ),
    (["How many bones does an adult have?"], "206", "An adult has 206 bones."),
    (
        ["Which metal is liquid at room temperature?"],
        "mercury",
        "Mercury is liquid at room temperature.",
    ),
    (
        [
            "What is the hardest natural material?",
            "What is harder than any other natural material?",
        ],
        "diamond",
        "Diamond is the hardest natural material.",
    ),
    (["What do we call a baby cat?"], "a kitten", "A baby cat is called a kitten."),
    (
        ["What is the longest bone in the body?"],
        "the femur",
        "The femur is the longest bone in the body.",
    ),
    (
        ["What travels faster, light or sound?", "Which is faster, light or sound?"],
        "light",
        "Light is faster than sound.",
    ),
    (
        ["What is the center of an atom called?"],
        "the nucleus",
        "The center of an atom is called the nucleus.",
    ),
    (["What is the currency of Japan?"], "the yen", "The currency of Japan is the yen."),
    (
        ["What is the currency of the United Kingdom?"],
        "the pound",
        "The currency of the United Kingdom is the pound.",
    ),
    (
        ["What is the currency of Italy?", "What money do people use in Italy?"],
        "the euro",
        "The currency of Italy is the euro.",
    ),
    (
        ["What is the currency of the United States?"],
        "the dollar",
        "The currency of the United States is the dollar.",
    ),
    (["Which river flows through Paris?"], "the Seine", "The Seine flows through Paris."),
    (["Which river flows through London?"], "the Thames", "The Thames flows through London."),
    (["Which river flows through Rome?"], "the Tiber", "The Tiber flows through Rome."),
    (["Which river flows through Egypt?"], "the Nile", "The Nile flows through Egypt."),
    (
        ["Which country looks like a boot on the map?", "Which country has the shape of a boot?"],
        "Italy",
        "Italy looks like a boot on the map.",
    ),
]
ROMAN = [
    (1, "I"),
    (2, "II"),
    (3, "III"),
    (4, "IV"),
    (5, "V"),
    (6, "VI"),
    (7, "VII"),
    (8, "VIII"),
    (9, "IX"),
    (10, "X"),
    (11, "XI"),
    (12, "XII"),
    (14, "XIV"),
    (15, "XV"),
    (19, "XIX"),
    (20, "XX"),
    (40, "XL"),
    (50, "L"),
    (90, "XC"),
    (100, "C"),
    (500, "D"),
    (1000, "M"),
]
CATEGORIES = {
    "fruit": "apple pear plum peach cherry lemon orange banana grape melon fig kiwi mango".split(),
    "vegetable": "carrot potato onion cabbage spinach leek pea radish broccoli lettuce".split(),
    "color": "red blue green yellow white black purple brown pink".split(),
    "animal": "cat dog fox bear wolf lion tiger horse cow goat sheep frog owl".split(),
    "tool": "hammer saw screwdriver shovel ladder drill axe".split(),
    "instrument": "piano violin flute drum guitar trumpet harp cello".split(),
    "vehicle": "car bus train bicycle truck boat plane tram".split(),
    "drink": "water milk tea coffee juice lemonade".split(),
    "piece of clothing": "hat coat shirt shoe sock scarf glove dress".split(),
    "piece of furniture": "table chair bed sofa desk shelf wardrobe".split(),
    "planet": PLANETS,
    "metal": "iron gold silver copper tin zinc lead".split(),
    "shape": "circle square triangle rectangle hexagon oval".split(),
    "sport": "football tennis swimming running basketball skiing volleyball".split(),
}
