"""Topic 15: short definitions (science, law, language, art) and simple rules."""

from core import turn, build, text_sample, cap, join_and, num_words

# term | field | predicate after "is" | one more sentence
_D = """
gravity|physics|the force that pulls things towards each other|It keeps us on the ground.
energy|physics|the ability to do work|It can change its form, but it is never lost.
a force|physics|a push or a pull|It is measured in newtons.
speed|physics|the distance that a thing moves in a given time|It is measured in meters per second.
mass|physics|the amount of matter in a body|It is measured in kilograms.
friction|physics|the force that slows down things that rub against each other|Without friction we could not walk.
heat|physics|energy that moves from a warm body to a cold one|It always flows from hot to cold.
light|physics|energy that we can see|It is faster than anything else.
sound|physics|a vibration that travels through air or other matter|It cannot travel through empty space.
a magnet|physics|a body that attracts iron|It has a north pole and a south pole.
electricity|physics|the flow of tiny charged particles|It makes lamps and machines work.
a shadow|physics|a dark area where light is blocked|It is long in the evening.
a lens|physics|a curved piece of glass that bends light|We find it in glasses and cameras.
an echo|physics|a sound that comes back from a wall|We hear it in the mountains.
pressure|physics|a force on an area|It grows when we dive deep.
a vacuum|physics|a space without matter|Sound cannot pass through it.
a lever|physics|a stiff bar that helps to lift heavy things|A seesaw is a lever.
a rainbow|physics|an arc of colors made by sunlight in drops of water|It has seven colors.
temperature|physics|a measure of how hot or cold something is|We read it from a thermometer.
a wave|physics|a movement that carries energy|Light and sound are waves.
an atom|chemistry|the smallest part of an element|It has a nucleus and electrons.
a molecule|chemistry|a group of atoms that hold together|Water is made of such groups.
an element|chemistry|a substance made of only one kind of atom|Gold and oxygen are elements.
an acid|chemistry|a sour substance that can eat away metal|Lemon juice is a weak acid.
a gas|chemistry|matter that fills all the space it gets|Air is a mix of gases.
a liquid|chemistry|matter that flows and takes the shape of its container|Water is a liquid.
a solid|chemistry|matter that keeps its shape|Stone and ice are solids.
evaporation|chemistry|the change from a liquid to a gas|It dries wet clothes.
melting|chemistry|the change from a solid to a liquid|Ice does this in the sun.
freezing|chemistry|the change from a liquid to a solid|Water does this at 0 degrees.
a mixture|chemistry|a combination of several substances|Salt water is a mixture.
combustion|chemistry|a fast reaction with oxygen that gives heat and light|A candle flame shows it.
rust|chemistry|the red-brown layer on iron that meets water and air|Paint protects iron from it.
a crystal|chemistry|a solid whose atoms stand in a regular order|Salt and snow form crystals.
a catalyst|chemistry|a substance that makes a reaction faster without being used up|Cars use one to clean their smoke.
a cell|biology|the smallest unit of life|All plants and animals are made of cells.
photosynthesis|biology|the way plants make sugar from light, water and carbon dioxide|It also gives us oxygen.
a gene|biology|a piece of DNA with a plan for a trait|We get our genes from our parents.
DNA|biology|the long molecule that stores the plan of a living thing|It looks like a twisted ladder.
a mammal|biology|an animal that feeds its young with milk|Dogs, whales and people are mammals.
a bird|biology|an animal with feathers and wings|It lays eggs.
a reptile|biology|an animal with dry scales that lays eggs|Snakes and turtles are reptiles.
an insect|biology|a small animal with six legs|Bees and ants are insects.
a plant|biology|a living thing that makes its food from light|It has roots, stem and leaves.
a root|biology|the part of a plant that takes water from the soil|It also holds the plant in place.
a leaf|biology|the part of a plant that catches the light|It is green in summer.
a seed|biology|the small part of a plant from which a new plant grows|It needs water to start.
pollen|biology|a fine powder from flowers|Bees carry it from flower to flower.
the heart|biology|the organ that pumps blood|It beats all our life.
the brain|biology|the organ that thinks and controls the body|It is protected by the skull.
a lung|biology|an organ that takes oxygen from the air|We have two of them.
a muscle|biology|a part of the body that moves it by getting shorter|The heart is one too.
a bone|biology|a hard part of the skeleton|An adult has 206 of them.
blood|biology|the red liquid that carries oxygen through the body|The heart pumps it.
a virus|biology|a tiny particle that can make us ill and needs a cell to multiply|It is smaller than a cell.
evolution|biology|the slow change of living things over many generations|It explains why there are so many species.
a habitat|biology|the place where an animal or plant lives|A pond is one for frogs.
a food chain|biology|a line of living things in which each eats the one before|Grass, rabbit and fox form one.
hibernation|biology|a long winter sleep of some animals|Hedgehogs do this.
migration|biology|the long journey of animals to another place|Many birds fly south in autumn.
a fossil|biology|the remains of an old living thing in stone|It tells us about the past.
camouflage|biology|a color or shape that makes an animal hard to see|A green frog in the grass uses it.
a planet|astronomy|a large round body that moves around a star|Earth is one.
a star|astronomy|a huge ball of hot gas that gives light|The Sun is one.
a moon|astronomy|a body that moves around a planet|Our planet has one.
a comet|astronomy|a body of ice and dust with a bright tail|It comes from far away.
a galaxy|astronomy|a very large group of stars|Ours is called the Milky Way.
an orbit|astronomy|the path of a body around another one|Earth needs one year for it.
an eclipse|astronomy|an event in which one body in space hides another|The Moon can hide the Sun.
a telescope|astronomy|an instrument that shows far things in the sky|It has lenses or mirrors.
a black hole|astronomy|a place in space with such strong gravity that light cannot leave|It forms from a very big star.
the solar system|astronomy|the Sun with all its planets|It has eight planets.
a satellite|astronomy|a natural or built object that circles a planet|Some help us to see the weather.
an island|geography|land with water all around|Iceland is one.
a mountain|geography|a very high piece of land|The highest one is Mount Everest.
a river|geography|a stream of water that flows to the sea or a lake|It starts at a spring.
a desert|geography|a very dry region with little rain|Camels can live there.
a volcano|geography|a mountain from which hot melted rock can come out|The hot rock is called lava.
an earthquake|geography|a shaking of the ground|It comes from moving plates.
a continent|geography|a very large area of land|There are seven of them.
the equator|geography|the line around the middle of the Earth|It is hot there.
a lake|geography|a body of water with land all around|It is smaller than a sea.
a valley|geography|low land between hills or mountains|A river often flows through it.
a glacier|geography|a slow river of ice|It moves only a little each day.
a map|geography|a drawing of a place seen from above|It helps us find the way.
a compass|geography|an instrument that shows north|It has a small magnet.
a peninsula|geography|land with water on three sides|Italy is one.
a cloud|weather|a mass of tiny drops of water in the sky|It can bring rain.
fog|weather|a cloud near the ground|It is hard to see in it.
lightning|weather|a bright electric flash in the sky|Thunder follows it.
thunder|weather|the loud sound after lightning|It comes later because sound is slow.
wind|weather|moving air|It can turn a windmill.
snow|weather|frozen water that falls as soft white flakes|No two flakes are quite the same.
climate|weather|the usual weather of a place over many years|It is warm in the south.
a storm|weather|very strong wind, often with rain|Ships stay in the harbor.
a number|math|a sign that tells how many|We count with it.
a sum|math|the result of an addition|The sum of 2 and 3 is 5.
a difference|math|the result of a subtraction|The difference of 7 and 3 is 4.
a product|math|the result of a multiplication|The product of 2 and 4 is 8.
a quotient|math|the result of a division|The quotient of 8 and 2 is 4.
a fraction|math|a part of a whole|One half is a fraction.
an even number|math|a number that can be divided by 2|4 and 10 are even.
a prime number|math|a number above 1 that only 1 and itself divide|2, 3, 5 and 7 are primes.
a triangle|math|a shape with three sides|Its angles add up to 180 degrees.
a square|math|a shape with four equal sides and four right angles|A chess board is a square.
a circle|math|a round line with the same distance to its center everywhere|A wheel has this shape.
an angle|math|the space between two lines that meet|A right angle has 90 degrees.
the radius|math|the distance from the center of a circle to its edge|It is half of the diameter.
the average|math|the sum of values divided by how many there are|The average of 2 and 4 is 3.
a percent|math|one part of a hundred|50 percent is one half.
a variable|math|a letter that stands for a number|We often use x.
an algorithm|computing|a list of clear steps to solve a problem|A recipe is similar.
a program|computing|a list of instructions for a computer|It is written in a programming language.
a computer|computing|a machine that works with data|It has a processor and memory.
a processor|computing|the part of a computer that does the calculations|It is also called CPU.
memory|computing|the part of a computer that holds data for quick use|It loses its data without power.
a disk|computing|a device that keeps data for a long time|It is slower than memory.
a file|computing|a named piece of data on a disk|It can hold text, pictures or music.
a bit|computing|the smallest unit of data, either 0 or 1|Eight of them make a byte.
a byte|computing|a group of eight bits|It can hold one letter.
the internet|computing|a network that connects computers all over the world|Web pages use it.
a browser|computing|a program that shows web pages|You use it to read the web.
a database|computing|an ordered collection of data|SQL is a language for it.
a bug|computing|a mistake in a program|A test can find it.
a server|computing|a computer that offers a service to others|It answers requests.
a password|computing|a secret word that protects an account|It should be long.
encryption|computing|a way to hide data from others with a key|Only the right key opens it.
a loop|computing|a part of a program that is repeated|It ends when a condition is met.
a compiler|computing|a program that translates code for the machine|C++ needs one.
a language model|computing|a program that guesses the next piece of a text|I am a very small one.
a neural network|computing|a program made of many simple connected units that learns from examples|It is used for language and pictures.
a robot|computing|a machine that can do tasks on its own|Some build cars.
a law|law|a rule made by the state|Everyone must follow it.
a contract|law|an agreement between two or more people that they must keep|A sale is a contract.
a judge|law|a person who decides cases in court|A judge must be fair.
a court|law|the place where legal cases are decided|A judge works there.
a lawyer|law|a person who helps others with the law|A lawyer speaks for a client.
a witness|law|a person who saw or heard what happened and tells the court|A witness must tell the truth.
evidence|law|facts or things that show what happened|The court looks at it.
a crime|law|an act that the law punishes|Theft is one.
theft|law|the taking of a thing that belongs to another person|The law punishes it.
a fine|law|money that must be paid as a punishment|You may get one for parking in the wrong place.
compensation|law|money paid to make up for harm|A court can order it.
a tenant|law|a person who rents a home or room|A tenant pays rent.
a landlord|law|a person who rents out a home or room|A landlord receives rent.
rent|law|money that is paid for using a home or thing|It is often paid each month.
a debt|law|money that must be paid back|A loan makes one.
a will|law|a paper that says who gets a person's things after death|It must be signed.
property|law|things that belong to a person|The law protects it.
a right|law|something that the law allows a person to have or do|To speak freely is one.
a duty|law|something that a person must do|To pay taxes is one.
a constitution|law|the highest law of a country|It says how the state works.
a parliament|law|a group of elected people who make laws|It votes on them.
a vote|law|a choice in an election|Each person has one.
a citizen|law|a person who belongs to a country|Citizens can vote.
a treaty|law|an agreement between countries|It can end a war.
a license|law|an official permission|You need one to drive a car.
a patent|law|the right to be the only one to use an invention for some years|An inventor can ask for it.
copyright|law|the right of an author to decide about a work|It protects books and songs.
a deadline|law|the last day on which something can be done|After it, it is too late.
liability|law|the duty to pay for harm that you caused|It follows from fault.
an appeal|law|a request to a higher court to look at a case again|It has a deadline.
a signature|law|your name written by hand on a paper|It shows that you agree.
money|economy|a thing that people accept as payment|Coins and notes are money.
a price|economy|the amount of money that a thing costs|It rises when many people want it.
a market|economy|a place where things are bought and sold|It can be a real place or a web page.
a tax|economy|money that people pay to the state|It pays for schools and roads.
a loan|economy|money that is lent and must be paid back|A bank can give one.
interest|economy|the price for borrowing money|The bank asks for it.
a budget|economy|a plan for spending money|It helps to save.
trade|economy|the buying and selling of things|It connects countries.
profit|economy|the money that is left after all costs are paid|A shop needs it.
inflation|economy|a general rise of prices|Money buys less then.
a noun|language|a word for a person, a thing or an idea|House and love are nouns.
a verb|language|a word for an action or a state|Run and be are verbs.
an adjective|language|a word that describes a noun|Red and small are adjectives.
a vowel|language|one of the letters a, e, i, o and u|Each word has at least one sound like this.
a sentence|language|a group of words with a complete thought|It ends with a period.
a question|language|a sentence that asks for an answer|It ends with a question mark.
a synonym|language|a word with the same meaning as another word|Big and large are an example.
an opposite|language|a word with the contrary meaning|Hot and cold are an example.
a poem|language|a text in verse, often with rhyme|It can be short or long.
a rhyme|language|words with the same sound at the end|Cat and hat are an example.
a story|language|a text that tells what happened|It has a beginning and an end.
a proverb|language|a short old saying with a piece of wisdom|People pass it on.
a fable|language|a short story with animals that teaches something|It ends with a moral.
an alphabet|language|the list of letters of a language|The English one has 26 letters.
a dictionary|language|a book that explains words|Its words are in alphabetical order.
a translation|language|the same text in another language|It keeps the meaning.
a painting|art|a picture made with paint|It can hang on a wall.
a sculpture|art|a work of art in stone, wood or metal|You can walk around it.
a melody|art|a line of tones that makes a tune|We can sing it.
rhythm|art|the pattern of long and short sounds|We clap our hands to it.
an orchestra|art|a large group of musicians|A conductor leads it.
a museum|art|a house that shows old or beautiful things|People visit it to learn.
a theater|art|a place where plays are shown|The actors stand on a stage.
a dance|art|a movement of the body to music|It can be slow or fast.
bread|food|a food baked from flour, water and salt|It is eaten all over the world.
cheese|food|a food made from milk|There are hard and soft kinds.
honey|food|the sweet food that bees make|It keeps for a long time.
a vitamin|food|a substance in food that the body needs in small amounts|Fruit has many of them.
protein|food|a part of food that builds muscles|Beans and eggs have much of it.
salt|food|a white mineral that gives taste|It comes from the sea or from rock.
a recipe|food|a list of steps to cook a dish|It also names the ingredients.
a bridge|technology|a structure that carries a road over water or a valley|It can be made of stone or steel.
a wheel|technology|a round part that turns and helps things to roll|It was a great invention.
an engine|technology|a machine that makes other things move|It needs fuel or power.
a battery|technology|a device that stores electric energy|A phone needs one.
a clock|technology|an instrument that shows the time|It has two hands.
a windmill|technology|a machine that uses wind to do work|It once made flour.
a sensor|technology|a device that measures something|One can measure light or heat.
recycling|technology|the use of old material to make new things|It saves energy.
"""
DEFS = []
for _l in _D.strip().split("\n"):
    _p = _l.split("|")
    DEFS.append(tuple(_p))
FIELDS = sorted({d[1] for d in DEFS})
BY = {f: [d for d in DEFS if d[1] == f] for f in FIELDS}


def bare(t):
    return t.split(" ", 1)[1] if t.startswith(("a ", "an ", "the ")) else t


def sent(d):
    return "%s is %s." % (cap(d[0]), d[2])


def _def(ctx):
    d = ctx.pick(DEFS)
    k = ctx.wpick([(10, "def"), (5, "back"), (3, "field"), (3, "two"), (4, "full"), (2, "tf")])
    if k == "def":
        j = ctx.randint(0, 6)
        q = [
            "What is %s?" % d[0],
            'Define "%s".' % bare(d[0]),
            'What does "%s" mean?' % bare(d[0]),
            "Explain %s in one sentence." % d[0],
            'Give me a short definition of "%s".' % bare(d[0]),
            "In %s, what is %s?" % (d[1], d[0]),
            "%s?" % cap(bare(d[0])),
        ][j]
        return ("sc|%s|%d" % (d[0], j) if j else None), (
            q,
            sent(d),
            "This is a word from %s." % d[1],
        )
    if k == "back":
        j = ctx.randint(0, 2)
        q = [
            "Which word means: %s?" % d[2],
            "What do we call %s?" % d[2],
            "Which term from %s fits: %s?" % (d[1], d[2]),
        ][j]
        return ("scb|%s|%d" % (d[0], j) if j else None), (
            q,
            "%s." % cap(d[0]),
            "This is about %s." % d[1],
        )
    if k == "field":
        j = ctx.randint(0, 2)
        if j == 2:
            o = ctx.pick([f for f in FIELDS if f != d[1]])
            x, y = (d[1], o) if ctx.chance(0.5) else (o, d[1])
            return "scf|%s|%s" % (d[0], o), (
                'Is "%s" a word from %s or from %s?' % (bare(d[0]), x, y),
                '"%s" is a word from %s.' % (cap(bare(d[0])), d[1]),
                None,
            )
        return ("scf|%s|%d" % (d[0], j) if j else None), (
            [
                'To which field does "%s" belong?' % bare(d[0]),
                'Which field studies or uses the word "%s"?' % bare(d[0]),
            ][j],
            '"%s" belongs to %s.' % (cap(bare(d[0])), d[1]),
            None,
        )
    if k == "two":
        e = ctx.pick(BY[d[1]])
        if e is d:
            return _def(ctx)
        return "sc2|%s|%s" % (d[0], e[0]), (
            "What is the difference between %s and %s?" % (d[0], e[0]),
            "%s %s" % (sent(d), sent(e)),
            None,
        )
    if k == "tf":
        e = ctx.pick(BY[d[1]])
        y = e is d or ctx.chance(0.4)
        if y:
            return "sct|%s|y" % d[0], ("True or false: %s" % sent(d), "True.", None)
        return "sct|%s|%s" % (d[0], e[0]), (
            "True or false: %s is %s." % (cap(d[0]), e[2]),
            "False. %s" % sent(d),
            None,
        )
    j = ctx.randint(0, 3)
    q = [
        "Tell me about %s." % d[0],
        "Write two sentences about %s." % d[0],
        "Explain %s." % d[0],
        "What do you know about %s?" % d[0],
    ][j]
    return ("scl|%s|%d" % (d[0], j) if j else None), (
        q,
        "%s %s" % (sent(d), d[3]),
        "This is a word from %s." % d[1],
    )


def def_turn(ctx):
    q, a, r = ctx.draw(_def)
    return turn(q, a, r)


# ---- rule texts with questions (law-like) ---------------------------------------------
TITLES = {
    "library": (
        "member",
        "Library Rules",
        [
            "bring back each book within {n} days",
            "keep the books clean",
            "speak quietly",
            "show the library card at the desk",
            "pay {m} euros for a lost card",
        ],
        [
            "eat in the reading room",
            "write in the books",
            "use a phone in the reading room",
            "give the card to another person",
        ],
    ),
    "park": (
        "visitor",
        "Park Rules",
        [
            "keep dogs on a leash",
            "leave the park before {h}",
            "put waste into the bins",
            "stay on the paths",
            "pay {m} euros for a guided tour",
        ],
        [
            "feed the ducks",
            "pick flowers",
            "light a fire",
            "swim in the pond",
            "ride a bicycle on the grass",
        ],
    ),
    "rent": (
        "tenant",
        "Rental Agreement",
        [
            "pay {m}0 euros of rent each month",
            "pay the rent before day {n} of the month",
            "keep the flat clean",
            "report damage within {n} days",
            "give notice {n} weeks before leaving",
        ],
        [
            "keep more than {k} pets",
            "make noise after {h}",
            "paint the walls without permission",
            "rent the flat to others",
        ],
    ),
    "school": (
        "student",
        "School Rules",
        [
            "be in class before {h}",
            "do the homework",
            "hand in a note within {n} days after an absence",
            "bring the books",
            "help to clean the room",
        ],
        [
            "run in the hallway",
            "use a phone in class",
            "eat during the lesson",
            "leave the school without permission",
        ],
    ),
    "pool": (
        "guest",
        "Pool Rules",
        [
            "take a shower first",
            "wear a cap",
            "leave the water before {h}",
            "pay {m} euros for a ticket",
            "listen to the guard",
        ],
        [
            "run near the water",
            "bring glass bottles",
            "jump from the side",
            "swim alone with less than {n} years of age",
        ],
    ),
    "loan": (
        "borrower",
        "Loan Agreement",
        [
            "pay back the money within {n} months",
            "pay {m} euros each month",
            "tell the lender about a new address",
            "sign both copies",
        ],
        [
            "give the loan to another person",
            "stop paying without notice",
            "use the money for gambling",
        ],
    ),
    "sale": (
        "buyer",
        "Sale Contract",
        [
            "pay {m} euros",
            "pay within {n} days",
            "check the goods at once",
            "report a fault within {n} days",
        ],
        [
            "return used goods",
            "change the order after {n} days",
            "sell the goods before they are paid",
        ],
    ),
    "bike": (
        "rider",
        "Bicycle Rental Terms",
        [
            "return the bicycle within {n} hours",
            "lock the bicycle",
            "wear a helmet",
            "pay {m} euros per day",
        ],
        ["carry more than {k} persons", "ride on the sidewalk", "leave the city"],
    ),
    "hotel": (
        "guest",
        "Hotel Rules",
        [
            "leave the room before {h}",
            "pay {m} euros per night",
            "give back the key",
            "close the windows when it rains",
        ],
        ["smoke in the room", "make noise after {h}", "bring more than {k} visitors"],
    ),
    "museum": (
        "visitor",
        "Museum Rules",
        [
            "buy a ticket for {m} euros",
            "leave bags at the desk",
            "leave before {h}",
            "keep children close",
        ],
        ["touch the paintings", "take photos with flash", "eat in the halls"],
    ),
    "work": (
        "worker",
        "Work Contract",
        [
            "start before {h}",
            "give notice {n} weeks before leaving",
            "tell the company about an illness within {k} days",
            "keep company secrets",
        ],
        ["work for another company", "take tools home", "work more than {n} hours a day"],
    ),
}
TITLES["pool"][3][3] = "bring animals"


def _rules(ctx):
    k = ctx.pick(list(TITLES))
    who, title, must, mustnot = TITLES[k]
    n, m, kk = ctx.randint(2, 30), ctx.randint(2, 60), ctx.randint(2, 4)
    h = "%d:00" % ctx.randint(8, 22)

    def fill(s):
        return (
            s.replace("{n}", str(n))
            .replace("{m}", str(m))
            .replace("{k}", str(kk))
            .replace("{h}", h)
        )

    a = [fill(x) for x in ctx.sample(must, ctx.randint(1, 2))]
    b = [fill(x) for x in ctx.sample(mustnot, 1)]
    if sum("within" in x for x in a) > 1 or sum(" euros" in x for x in a) > 1:
        a = a[:1]
    fine = ctx.randint(1, 20) * 5
    return "rul|%s|%s|%s|%d" % (k, a, b, fine), (k, who, title, a, b, fine)


def rules_text(it):
    k, who, title, a, b, fine = it
    arts = (
        ["The %s must %s." % (who, x) for x in a]
        + ["The %s must not %s." % (who, x) for x in b]
        + ["A %s who breaks these rules pays %d euros." % (who, fine)]
    )
    return title + "\n" + "\n".join("Article %d. %s" % (i + 1, s) for i, s in enumerate(arts)), arts


def rules_turns(ctx):
    it = ctx.draw(_rules)
    k, who, title, a, b, fine = it
    text, arts = rules_text(it)
    x = ctx.rng.random()
    qs = [
        ("What must the %s not do?" % who, "The %s must not %s." % (who, b[0])),
        (
            "How much does a %s pay who breaks the rules?" % who,
            "The %s pays %d euros." % (who, fine),
        ),
        ("May the %s %s?" % (who, b[0]), "No. Article %d says: %s" % (len(a) + 1, arts[len(a)])),
        ("What does article 1 say?", arts[0]),
        ("What does article %d say?" % len(arts), arts[-1]),
        ("How many articles are there?", "There are %s articles." % num_words(len(arts))),
        ("To whom do these rules apply?", "They apply to the %s." % who),
        ("What must the %s do?" % who, "The %s must %s." % (who, join_and(a))),
    ]
    if x < 0.6:
        q, an = ctx.pick(qs)
        turns = [turn("%s\n\n%s" % (text, q), an, None, None, noise=0)]
        for q2, a2 in ctx.sample([p for p in qs if p[0] != q], ctx.randint(0, 2)):
            turns.append(turn(q2, a2))
        return turns
    pts = (
        ["the %s must %s" % (who, y) for y in a]
        + ["the %s must not %s" % (who, y) for y in b]
        + ["the fine is %d euros" % fine]
    )
    return [
        turn(
            ctx.pick(["Write %s with these points: %s.", "Make %s from these points: %s."])
            % (
                (
                    title.lower()
                    if not title.endswith(("Agreement", "Contract"))
                    else "a " + title.lower()
                ),
                "; ".join(pts),
            ),
            text,
            None,
            None,
            noise=1,
        )
    ]


def _clause(ctx):
    k = ctx.pick(list(TITLES))
    who, title, must, mustnot = TITLES[k]
    n, m, kk = ctx.randint(2, 30), ctx.randint(2, 60), ctx.randint(2, 4)
    h = "%d:00" % ctx.randint(8, 22)
    neg = ctx.chance(0.4)
    s = (
        ctx.pick(mustnot if neg else must)
        .replace("{n}", str(n))
        .replace("{m}", str(m))
        .replace("{k}", str(kk))
        .replace("{h}", h)
    )
    kind = ctx.pick(["who", "allowed", "rewrite", "num"])
    return "cl|%s|%s|%s" % (who, s, kind), (who, s, neg, kind)


def clause_turn(ctx):
    who, s, neg, kind = ctx.draw(_clause)
    full = "The %s must %s%s." % (who, "not " if neg else "", s)
    if kind == "who":
        return turn("%s Who has this duty?" % full, "The %s has this duty." % who, None, None, 1)
    if kind == "allowed":
        if neg:
            return turn(
                "%s Is it allowed to %s?" % (full, s),
                "No, the %s must not %s." % (who, s),
                None,
                None,
                1,
            )
        return turn("%s Is this a duty or a right?" % full, "It is a duty.", None, None, 1)
    if kind == "rewrite":
        return turn(
            "Write this as a rule: the %s %s %s" % (who, "may not" if neg else "has to", s),
            full,
            None,
            None,
            0,
        )
    n = ctx.randint(1, 20)
    return turn(
        "Write this as article %d: the %s %s %s" % (n, who, "may not" if neg else "has to", s),
        "Article %d. %s" % (n, full),
        None,
        None,
        0,
    )


# ---- formulas ---------------------------------------------------------------------------
def _formula(ctx):
    k = ctx.pick(
        [
            "speed",
            "dist",
            "time",
            "ohm",
            "area",
            "peri",
            "density",
            "rect",
            "angle",
            "interest",
            "light",
        ]
    )
    a, b = ctx.randint(2, 12), ctx.randint(2, 12)
    if k == "speed":
        a *= 10
        return "fo|%s|%d|%d" % (k, a, b), (
            "A car drives %d km in %d hours. What is its speed?" % (a * b, b),
            "The speed is %d km per hour." % a,
            "Speed is distance divided by time. %d / %d = %d." % (a * b, b, a),
            a,
        )
    if k == "dist":
        a *= 10
        return "fo|%s|%d|%d" % (k, a, b), (
            "A train drives %d km per hour for %d hours. How far does it go?" % (a, b),
            "It goes %d km." % (a * b),
            "Distance is speed times time. %d x %d = %d." % (a, b, a * b),
            a * b,
        )
    if k == "time":
        a *= 10
        return "fo|%s|%d|%d" % (k, a, b), (
            "A bus drives %d km per hour. How long does it need for %d km?" % (a, a * b),
            "It needs %d hours." % b,
            "Time is distance divided by speed. %d / %d = %d." % (a * b, a, b),
            b,
        )
    if k == "ohm":
        return "fo|%s|%d|%d" % (k, a, b), (
            "The current is %d ampere and the resistance is %d ohm. What is the voltage?" % (a, b),
            "The voltage is %d volt." % (a * b),
            "Voltage is current times resistance. %d x %d = %d." % (a, b, a * b),
            a * b,
        )
    if k == "area":
        return "fo|%s|%d" % (k, a), (
            "What is the area of a square with a side of %d cm?" % a,
            "The area is %d square centimeters." % (a * a),
            "Area is side times side. %d x %d = %d." % (a, a, a * a),
            a * a,
        )
    if k == "rect":
        return "fo|%s|%d|%d" % (k, a, b), (
            "What is the area of a rectangle of %d by %d meters?" % (a, b),
            "The area is %d square meters." % (a * b),
            "Area is length times width. %d x %d = %d." % (a, b, a * b),
            a * b,
        )
    if k == "peri":
        return "fo|%s|%d|%d" % (k, a, b), (
            "What is the perimeter of a rectangle of %d by %d meters?" % (a, b),
            "The perimeter is %d meters." % (2 * (a + b)),
            "Add both sides and double. %d + %d = %d; 2 x %d = %d."
            % (a, b, a + b, a + b, 2 * (a + b)),
            2 * (a + b),
        )
    if k == "density":
        return "fo|%s|%d|%d" % (k, a, b), (
            "A body has a mass of %d grams and a volume of %d cubic centimeters. What is its"
            " density?" % (a * b, b),
            "The density is %d grams per cubic centimeter." % a,
            "Density is mass divided by volume. %d / %d = %d." % (a * b, b, a),
            a,
        )
    if k == "angle":
        x, y = 10 * ctx.randint(2, 8), 10 * ctx.randint(2, 8)
        return "fo|%s|%d|%d" % (k, x, y), (
            "Two angles of a triangle are %d and %d degrees. What is the third?" % (x, y),
            "The third angle is %d degrees." % (180 - x - y),
            "The angles add up to 180. %d + %d = %d; 180 - %d = %d."
            % (x, y, x + y, x + y, 180 - x - y),
            180 - x - y,
        )
    if k == "light":
        return "fo|%s|%d" % (k, a), (
            "Sound goes about 340 meters in one second. How far does it go in %d seconds?" % a,
            "It goes about %d meters." % (340 * a),
            "340 x %d = %d." % (a, 340 * a),
            340 * a,
        )
    p, m = ctx.pick([1, 2, 5, 10]), 100 * ctx.randint(1, 20)
    return "fo|%s|%d|%d" % (k, p, m), (
        "You lend %d euros for one year at %d percent. How much is the interest?" % (m, p),
        "The interest is %d euros." % (m * p // 100),
        "%d / 100 = %d; %d x %d = %d." % (m, m // 100, m // 100, p, m * p // 100),
        m * p // 100,
    )


def formula_turn(ctx):
    q, a, r, v = ctx.draw(_formula)
    return turn(q, a, r, {"kind": "first_int", "ans": v}, noise=1)


def sample(ctx):
    x = ctx.rng.random()
    if x < 0.14:
        if ctx.chance(0.5):
            f = ctx.pick(FIELDS)
            ds = ctx.sample(BY[f], min(len(BY[f]), ctx.randint(1, 4)))
            key = "sctext|" + "|".join(d[0] for d in ds)
            if len(ds) > 1 and ctx.ok(key):
                return text_sample(
                    "science",
                    "%s\n\n" % cap(f)
                    + "\n".join("%s: %s %s" % (cap(bare(d[0])), sent(d), d[3]) for d in ds),
                )
        it = ctx.draw(_rules)
        return text_sample("science", rules_text(it)[0])
    if x < 0.30:
        return build(ctx, "science", rules_turns(ctx))
    n = ctx.wpick([(20, 1), (22, 2), (24, 3), (20, 4), (14, 5)])
    return build(
        ctx,
        "science",
        [ctx.wpick([(66, def_turn), (20, formula_turn), (14, clause_turn)])(ctx) for _ in range(n)],
        think=0.15,
    )
