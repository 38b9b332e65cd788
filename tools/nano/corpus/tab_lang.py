"""Aligned tables English / Italian / French / Spanish / German (topic 8)."""

LANGS = {"it": "Italian", "fr": "French", "es": "Spanish", "de": "German"}

# en | it g plural | fr g plural | es g plural | de g plural | class
# class: a animal, t thing you can hold or own, p person, o place, m mass noun, x other
_N = """
house|casa f case|maison f maisons|casa f casas|Haus n Häuser|o
dog|cane m cani|chien m chiens|perro m perros|Hund m Hunde|a
cat|gatto m gatti|chat m chats|gato m gatos|Katze f Katzen|a
book|libro m libri|livre m livres|libro m libros|Buch n Bücher|t
table|tavolo m tavoli|table f tables|mesa f mesas|Tisch m Tische|t
chair|sedia f sedie|chaise f chaises|silla f sillas|Stuhl m Stühle|t
door|porta f porte|porte f portes|puerta f puertas|Tür f Türen|t
window|finestra f finestre|fenêtre f fenêtres|ventana f ventanas|Fenster n Fenster|t
car|macchina f macchine|voiture f voitures|coche m coches|Auto n Autos|t
train|treno m treni|train m trains|tren m trenes|Zug m Züge|t
city|città f città|ville f villes|ciudad f ciudades|Stadt f Städte|o
street|strada f strade|rue f rues|calle f calles|Straße f Straßen|o
school|scuola f scuole|école f écoles|escuela f escuelas|Schule f Schulen|o
garden|giardino m giardini|jardin m jardins|jardín m jardines|Garten m Gärten|o
tree|albero m alberi|arbre m arbres|árbol m árboles|Baum m Bäume|t
flower|fiore m fiori|fleur f fleurs|flor f flores|Blume f Blumen|t
sun|sole m -|soleil m -|sol m -|Sonne f -|x
moon|luna f -|lune f -|luna f -|Mond m -|x
star|stella f stelle|étoile f étoiles|estrella f estrellas|Stern m Sterne|x
sea|mare m -|mer f -|mar m -|Meer n -|x
river|fiume m fiumi|rivière f rivières|río m ríos|Fluss m Flüsse|o
mountain|montagna f montagne|montagne f montagnes|montaña f montañas|Berg m Berge|o
water|acqua f -|eau f -|agua f -|Wasser n -|m
bread|pane m -|pain m -|pan m -|Brot n -|m
milk|latte m -|lait m -|leche f -|Milch f -|m
cheese|formaggio m -|fromage m -|queso m -|Käse m -|m
coffee|caffè m -|café m -|café m -|Kaffee m -|m
tea|tè m -|thé m -|té m -|Tee m -|m
sugar|zucchero m -|sucre m -|azúcar m -|Zucker m -|x
salt|sale m -|sel m -|sal f -|Salz n -|x
apple|mela f mele|pomme f pommes|manzana f manzanas|Apfel m Äpfel|t
egg|uovo m uova|œuf m œufs|huevo m huevos|Ei n Eier|t
fish|pesce m pesci|poisson m poissons|pez m peces|Fisch m Fische|a
man|uomo m uomini|homme m hommes|hombre m hombres|Mann m Männer|p
woman|donna f donne|femme f femmes|mujer f mujeres|Frau f Frauen|p
girl|ragazza f ragazze|fille f filles|chica f chicas|Mädchen n Mädchen|p
child|bambino m bambini|enfant m enfants|niño m niños|Kind n Kinder|p
friend|amico m amici|ami m amis|amigo m amigos|Freund m Freunde|p
mother|madre f madri|mère f mères|madre f madres|Mutter f Mütter|f
father|padre m padri|père m pères|padre m padres|Vater m Väter|f
brother|fratello m fratelli|frère m frères|hermano m hermanos|Bruder m Brüder|f
sister|sorella f sorelle|sœur f sœurs|hermana f hermanas|Schwester f Schwestern|f
hand|mano f mani|main f mains|mano f manos|Hand f Hände|x
head|testa f teste|tête f têtes|cabeza f cabezas|Kopf m Köpfe|x
eye|occhio m occhi|œil m yeux|ojo m ojos|Auge n Augen|x
heart|cuore m cuori|cœur m cœurs|corazón m corazones|Herz n Herzen|x
day|giorno m giorni|jour m jours|día m días|Tag m Tage|x
night|notte f notti|nuit f nuits|noche f noches|Nacht f Nächte|x
week|settimana f settimane|semaine f semaines|semana f semanas|Woche f Wochen|x
month|mese m mesi|mois m mois|mes m meses|Monat m Monate|x
year|anno m anni|an m ans|año m años|Jahr n Jahre|x
bird|uccello m uccelli|oiseau m oiseaux|pájaro m pájaros|Vogel m Vögel|a
horse|cavallo m cavalli|cheval m chevaux|caballo m caballos|Pferd n Pferde|a
cow|mucca f mucche|vache f vaches|vaca f vacas|Kuh f Kühe|a
key|chiave f chiavi|clé f clés|llave f llaves|Schlüssel m Schlüssel|t
letter|lettera f lettere|lettre f lettres|carta f cartas|Brief m Briefe|t
pen|penna f penne|stylo m stylos|bolígrafo m bolígrafos|Stift m Stifte|t
bag|borsa f borse|sac m sacs|bolsa f bolsas|Tasche f Taschen|t
shoe|scarpa f scarpe|chaussure f chaussures|zapato m zapatos|Schuh m Schuhe|t
hat|cappello m cappelli|chapeau m chapeaux|sombrero m sombreros|Hut m Hüte|t
bed|letto m letti|lit m lits|cama f camas|Bett n Betten|t
room|stanza f stanze|chambre f chambres|habitación f habitaciones|Zimmer n Zimmer|o
kitchen|cucina f cucine|cuisine f cuisines|cocina f cocinas|Küche f Küchen|o
clock|orologio m orologi|horloge f horloges|reloj m relojes|Uhr f Uhren|t
bridge|ponte m ponti|pont m ponts|puente m puentes|Brücke f Brücken|o
shop|negozio m negozi|magasin m magasins|tienda f tiendas|Geschäft n Geschäfte|o
hospital|ospedale m ospedali|hôpital m hôpitaux|hospital m hospitales|Krankenhaus n Krankenhäuser|o
station|stazione f stazioni|gare f gares|estación f estaciones|Bahnhof m Bahnhöfe|o
museum|museo m musei|musée m musées|museo m museos|Museum n Museen|o
market|mercato m mercati|marché m marchés|mercado m mercados|Markt m Märkte|o
money|denaro m -|argent m -|dinero m -|Geld n -|x
music|musica f -|musique f -|música f -|Musik f -|x
song|canzone f canzoni|chanson f chansons|canción f canciones|Lied n Lieder|x
word|parola f parole|mot m mots|palabra f palabras|Wort n Wörter|x
world|mondo m -|monde m -|mundo m -|Welt f -|x
bicycle|bicicletta f biciclette|vélo m vélos|bicicleta f bicicletas|Fahrrad n Fahrräder|t
ship|nave f navi|bateau m bateaux|barco m barcos|Schiff n Schiffe|t
plane|aereo m aerei|avion m avions|avión m aviones|Flugzeug n Flugzeuge|t
forest|foresta f foreste|forêt f forêts|bosque m bosques|Wald m Wälder|o
rain|pioggia f -|pluie f -|lluvia f -|Regen m -|x
snow|neve f -|neige f -|nieve f -|Schnee m -|x
wind|vento m -|vent m -|viento m -|Wind m -|x
fire|fuoco m -|feu m -|fuego m -|Feuer n -|x
stone|pietra f pietre|pierre f pierres|piedra f piedras|Stein m Steine|t
box|scatola f scatole|boîte f boîtes|caja f cajas|Schachtel f Schachteln|t
cup|tazza f tazze|tasse f tasses|taza f tazas|Tasse f Tassen|t
spoon|cucchiaio m cucchiai|cuillère f cuillères|cuchara f cucharas|Löffel m Löffel|t
knife|coltello m coltelli|couteau m couteaux|cuchillo m cuchillos|Messer n Messer|t
hummingbird|colibrì m colibrì|colibri m colibris|colibrí m colibríes|Kolibri m Kolibris|a
"""
NOUNS = {}
for _l in _N.strip().split("\n"):
    _p = _l.split("|")
    _d = {"class": _p[5]}
    for _k, _v in zip(("it", "fr", "es", "de"), _p[1:5]):
        _w, _g, _pl = _v.split()
        _d[_k] = (_w, _g, None if _pl == "-" else _pl)
    NOUNS[_p[0]] = _d

# en | it m f | fr m f | es m f | de | post (may follow the noun in it/fr/es)
_A = """
red|rosso rossa|rouge rouge|rojo roja|rot|1
blue|blu blu|bleu bleue|azul azul|blau|1
green|verde verde|vert verte|verde verde|grün|1
yellow|giallo gialla|jaune jaune|amarillo amarilla|gelb|1
white|bianco bianca|blanc blanche|blanco blanca|weiß|1
black|nero nera|noir noire|negro negra|schwarz|1
cold|freddo fredda|froid froide|frío fría|kalt|1
warm|caldo calda|chaud chaude|caliente caliente|warm|1
clean|pulito pulita|propre propre|limpio limpia|sauber|1
fast|veloce veloce|rapide rapide|rápido rápida|schnell|1
slow|lento lenta|lent lente|lento lenta|langsam|1
big|grande grande|grand grande|grande grande|groß|0
small|piccolo piccola|petit petite|pequeño pequeña|klein|0
new|nuovo nuova|nouveau nouvelle|nuevo nueva|neu|0
old|vecchio vecchia|vieux vieille|viejo vieja|alt|0
beautiful|bello bella|beau belle|bonito bonita|schön|0
good|buono buona|bon bonne|bueno buena|gut|0
"""
ADJ = {}
for _l in _A.strip().split("\n"):
    _p = _l.split("|")
    ADJ[_p[0]] = {
        "it": _p[1].split(),
        "fr": _p[2].split(),
        "es": _p[3].split(),
        "de": _p[4],
        "post": _p[5] == "1",
    }

VERBS = {l.split("|")[0]: dict(zip(("it", "fr", "es", "de"), l.split("|")[1:])) for l in """
eat|mangiare|manger|comer|essen
drink|bere|boire|beber|trinken
sleep|dormire|dormir|dormir|schlafen
read|leggere|lire|leer|lesen
write|scrivere|écrire|escribir|schreiben
speak|parlare|parler|hablar|sprechen
run|correre|courir|correr|rennen
go|andare|aller|ir|gehen
come|venire|venir|venir|kommen
see|vedere|voir|ver|sehen
hear|sentire|entendre|oír|hören
love|amare|aimer|amar|lieben
work|lavorare|travailler|trabajar|arbeiten
play|giocare|jouer|jugar|spielen
sing|cantare|chanter|cantar|singen
dance|ballare|danser|bailar|tanzen
swim|nuotare|nager|nadar|schwimmen
buy|comprare|acheter|comprar|kaufen
open|aprire|ouvrir|abrir|öffnen
close|chiudere|fermer|cerrar|schließen
learn|imparare|apprendre|aprender|lernen
think|pensare|penser|pensar|denken
cook|cucinare|cuisiner|cocinar|kochen
wait|aspettare|attendre|esperar|warten
live|vivere|vivre|vivir|leben
travel|viaggiare|voyager|viajar|reisen
laugh|ridere|rire|reír|lachen
help|aiutare|aider|ayudar|helfen
""".strip().split("\n")}

WORDS = {l.split("|")[0]: dict(zip(("it", "fr", "es", "de"), l.split("|")[1:])) for l in """
today|oggi|aujourd'hui|hoy|heute
tomorrow|domani|demain|mañana|morgen
yesterday|ieri|hier|ayer|gestern
now|ora|maintenant|ahora|jetzt
always|sempre|toujours|siempre|immer
never|mai|jamais|nunca|nie
here|qui|ici|aquí|hier
where|dove|où|dónde|wo
when|quando|quand|cuándo|wann
who|chi|qui|quién|wer
why|perché|pourquoi|por qué|warum
how|come|comment|cómo|wie
and|e|et|y|und
or|o|ou|o|oder
but|ma|mais|pero|aber
with|con|avec|con|mit
without|senza|sans|sin|ohne
perhaps|forse|peut-être|quizás|vielleicht
one|uno|un|uno|eins
two|due|deux|dos|zwei
three|tre|trois|tres|drei
four|quattro|quatre|cuatro|vier
five|cinque|cinq|cinco|fünf
six|sei|six|seis|sechs
seven|sette|sept|siete|sieben
eight|otto|huit|ocho|acht
nine|nove|neuf|nueve|neun
ten|dieci|dix|diez|zehn
eleven|undici|onze|once|elf
twelve|dodici|douze|doce|zwölf
thirteen|tredici|treize|trece|dreizehn
fourteen|quattordici|quatorze|catorce|vierzehn
fifteen|quindici|quinze|quince|fünfzehn
sixteen|sedici|seize|dieciséis|sechzehn
seventeen|diciassette|dix-sept|diecisiete|siebzehn
eighteen|diciotto|dix-huit|dieciocho|achtzehn
nineteen|diciannove|dix-neuf|diecinueve|neunzehn
twenty|venti|vingt|veinte|zwanzig
thirty|trenta|trente|treinta|dreißig
forty|quaranta|quarante|cuarenta|vierzig
fifty|cinquanta|cinquante|cincuenta|fünfzig
hundred|cento|cent|cien|hundert
Monday|lunedì|lundi|lunes|Montag
Tuesday|martedì|mardi|martes|Dienstag
Wednesday|mercoledì|mercredi|miércoles|Mittwoch
Thursday|giovedì|jeudi|jueves|Donnerstag
Friday|venerdì|vendredi|viernes|Freitag
Saturday|sabato|samedi|sábado|Samstag
Sunday|domenica|dimanche|domingo|Sonntag
January|gennaio|janvier|enero|Januar
February|febbraio|février|febrero|Februar
March|marzo|mars|marzo|März
April|aprile|avril|abril|April
May|maggio|mai|mayo|Mai
June|giugno|juin|junio|Juni
July|luglio|juillet|julio|Juli
August|agosto|août|agosto|August
September|settembre|septembre|septiembre|September
October|ottobre|octobre|octubre|Oktober
November|novembre|novembre|noviembre|November
December|dicembre|décembre|diciembre|Dezember
spring|primavera|printemps|primavera|Frühling
summer|estate|été|verano|Sommer
autumn|autunno|automne|otoño|Herbst
winter|inverno|hiver|invierno|Winter
""".strip().split("\n")}
NUMS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]

PHRASES = {l.split("|")[0]: dict(zip(("it", "fr", "es", "de"), l.split("|")[1:])) for l in """
Hello!|Ciao!|Salut !|¡Hola!|Hallo!
Good morning.|Buongiorno.|Bonjour.|Buenos días.|Guten Morgen.
Good night.|Buonanotte.|Bonne nuit.|Buenas noches.|Gute Nacht.
Goodbye.|Arrivederci.|Au revoir.|Adiós.|Auf Wiedersehen.
See you tomorrow.|A domani.|À demain.|Hasta mañana.|Bis morgen.
See you soon.|A presto.|À bientôt.|Hasta pronto.|Bis bald.
Thank you.|Grazie.|Merci.|Gracias.|Danke.
Please.|Per favore.|S'il vous plaît.|Por favor.|Bitte.
Yes.|Sì.|Oui.|Sí.|Ja.
No.|No.|Non.|No.|Nein.
Excuse me.|Scusi.|Excusez-moi.|Perdón.|Entschuldigung.
I am sorry.|Mi dispiace.|Je suis désolé.|Lo siento.|Es tut mir leid.
How are you?|Come stai?|Comment ça va ?|¿Cómo estás?|Wie geht es dir?
I am fine.|Sto bene.|Je vais bien.|Estoy bien.|Mir geht es gut.
What is your name?|Come ti chiami?|Comment t'appelles-tu ?|¿Cómo te llamas?|Wie heißt du?
Where are you from?|Di dove sei?|D'où viens-tu ?|¿De dónde eres?|Woher kommst du?
I do not understand.|Non capisco.|Je ne comprends pas.|No entiendo.|Ich verstehe nicht.
I do not know.|Non lo so.|Je ne sais pas.|No lo sé.|Ich weiß nicht.
How much does it cost?|Quanto costa?|Combien ça coûte ?|¿Cuánto cuesta?|Wie viel kostet das?
What time is it?|Che ore sono?|Quelle heure est-il ?|¿Qué hora es?|Wie spät ist es?
I am hungry.|Ho fame.|J'ai faim.|Tengo hambre.|Ich habe Hunger.
I am thirsty.|Ho sete.|J'ai soif.|Tengo sed.|Ich habe Durst.
I am tired.|Sono stanco.|Je suis fatigué.|Estoy cansado.|Ich bin müde.
I am happy.|Sono felice.|Je suis heureux.|Estoy feliz.|Ich bin glücklich.
I love you.|Ti amo.|Je t'aime.|Te quiero.|Ich liebe dich.
Happy birthday!|Buon compleanno!|Joyeux anniversaire !|¡Feliz cumpleaños!|Alles Gute zum Geburtstag!
Good luck!|Buona fortuna!|Bonne chance !|¡Buena suerte!|Viel Glück!
Help!|Aiuto!|Au secours !|¡Socorro!|Hilfe!
Welcome!|Benvenuto!|Bienvenue !|¡Bienvenido!|Willkommen!
The bill, please.|Il conto, per favore.|L'addition, s'il vous plaît.|La cuenta, por favor.|Die Rechnung, bitte.
It is cold.|Fa freddo.|Il fait froid.|Hace frío.|Es ist kalt.
It is hot.|Fa caldo.|Il fait chaud.|Hace calor.|Es ist heiß.
It is raining.|Piove.|Il pleut.|Llueve.|Es regnet.
It is snowing.|Nevica.|Il neige.|Nieva.|Es schneit.
Enjoy your meal!|Buon appetito!|Bon appétit !|¡Buen provecho!|Guten Appetit!
No problem.|Nessun problema.|Pas de problème.|No hay problema.|Kein Problem.
Of course.|Certo.|Bien sûr.|Claro.|Natürlich.
Can you help me?|Puoi aiutarmi?|Peux-tu m'aider ?|¿Puedes ayudarme?|Kannst du mir helfen?
I am learning.|Sto imparando.|J'apprends.|Estoy aprendiendo.|Ich lerne.
I live in Rome.|Vivo a Roma.|J'habite à Rome.|Vivo en Roma.|Ich wohne in Rom.
It is late.|È tardi.|Il est tard.|Es tarde.|Es ist spät.
I have time.|Ho tempo.|J'ai le temps.|Tengo tiempo.|Ich habe Zeit.
Have a good trip!|Buon viaggio!|Bon voyage !|¡Buen viaje!|Gute Reise!
Where is the bathroom?|Dov'è il bagno?|Où sont les toilettes ?|¿Dónde está el baño?|Wo ist die Toilette?
I am ready.|Sono pronto.|Je suis prêt.|Estoy listo.|Ich bin bereit.
""".strip().split("\n")}

# countries and capitals for "Answer in Italian" etc.:
# en -> (name with article used after "capital of", capital)
CAP_L = {
    "Italy": {
        "it": ("dell'Italia", "Roma"),
        "fr": ("de l'Italie", "Rome"),
        "es": ("de Italia", "Roma"),
        "de": ("Italien", "Rom"),
    },
    "France": {
        "it": ("della Francia", "Parigi"),
        "fr": ("de la France", "Paris"),
        "es": ("de Francia", "París"),
        "de": ("Frankreich", "Paris"),
    },
    "Spain": {
        "it": ("della Spagna", "Madrid"),
        "fr": ("de l'Espagne", "Madrid"),
        "es": ("de España", "Madrid"),
        "de": ("Spanien", "Madrid"),
    },
    "Germany": {
        "it": ("della Germania", "Berlino"),
        "fr": ("de l'Allemagne", "Berlin"),
        "es": ("de Alemania", "Berlín"),
        "de": ("Deutschland", "Berlin"),
    },
    "Austria": {
        "it": ("dell'Austria", "Vienna"),
        "fr": ("de l'Autriche", "Vienne"),
        "es": ("de Austria", "Viena"),
        "de": ("Österreich", "Wien"),
    },
    "Greece": {
        "it": ("della Grecia", "Atene"),
        "fr": ("de la Grèce", "Athènes"),
        "es": ("de Grecia", "Atenas"),
        "de": ("Griechenland", "Athen"),
    },
    "Portugal": {
        "it": ("del Portogallo", "Lisbona"),
        "fr": ("du Portugal", "Lisbonne"),
        "es": ("de Portugal", "Lisboa"),
        "de": ("Portugal", "Lissabon"),
    },
    "Poland": {
        "it": ("della Polonia", "Varsavia"),
        "fr": ("de la Pologne", "Varsovie"),
        "es": ("de Polonia", "Varsovia"),
        "de": ("Polen", "Warschau"),
    },
    "Japan": {
        "it": ("del Giappone", "Tokyo"),
        "fr": ("du Japon", "Tokyo"),
        "es": ("de Japón", "Tokio"),
        "de": ("Japan", "Tokio"),
    },
    "China": {
        "it": ("della Cina", "Pechino"),
        "fr": ("de la Chine", "Pékin"),
        "es": ("de China", "Pekín"),
        "de": ("China", "Peking"),
    },
    "Egypt": {
        "it": ("dell'Egitto", "Il Cairo"),
        "fr": ("de l'Égypte", "Le Caire"),
        "es": ("de Egipto", "El Cairo"),
        "de": ("Ägypten", "Kairo"),
    },
    "Norway": {
        "it": ("della Norvegia", "Oslo"),
        "fr": ("de la Norvège", "Oslo"),
        "es": ("de Noruega", "Oslo"),
        "de": ("Norwegen", "Oslo"),
    },
    "Ireland": {
        "it": ("dell'Irlanda", "Dublino"),
        "fr": ("de l'Irlande", "Dublin"),
        "es": ("de Irlanda", "Dublín"),
        "de": ("Irland", "Dublin"),
    },
    "Peru": {
        "it": ("del Perù", "Lima"),
        "fr": ("du Pérou", "Lima"),
        "es": ("de Perú", "Lima"),
        "de": ("Peru", "Lima"),
    },
    "Cuba": {
        "it": ("di Cuba", "L'Avana"),
        "fr": ("de Cuba", "La Havane"),
        "es": ("de Cuba", "La Habana"),
        "de": ("Kuba", "Havanna"),
    },
    "Canada": {
        "it": ("del Canada", "Ottawa"),
        "fr": ("du Canada", "Ottawa"),
        "es": ("de Canadá", "Ottawa"),
        "de": ("Kanada", "Ottawa"),
    },
    "Belgium": {
        "it": ("del Belgio", "Bruxelles"),
        "fr": ("de la Belgique", "Bruxelles"),
        "es": ("de Bélgica", "Bruselas"),
        "de": ("Belgien", "Brüssel"),
    },
    "Russia": {
        "it": ("della Russia", "Mosca"),
        "fr": ("de la Russie", "Moscou"),
        "es": ("de Rusia", "Moscú"),
        "de": ("Russland", "Moskau"),
    },
}
CAP_T = {
    "it": "La capitale {0} è {1}.",
    "fr": "La capitale {0} est {1}.",
    "es": "La capital {0} es {1}.",
    "de": "Die Hauptstadt von {0} ist {1}.",
}
ADD_T = {
    "it": "{a} più {b} fa {c}.",
    "fr": "{a} plus {b} font {c}.",
    "es": "{a} más {b} son {c}.",
    "de": "{a} plus {b} ist {c}.",
}
SUB_T = {
    "it": "{a} meno {b} fa {c}.",
    "fr": "{a} moins {b} font {c}.",
    "es": "{a} menos {b} son {c}.",
    "de": "{a} minus {b} ist {c}.",
}
