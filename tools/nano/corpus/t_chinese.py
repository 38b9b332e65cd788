"""Topic 9: simple Chinese: words, phrases, numbers, dates, small dialogues."""

from core import turn, build, cap, plural, a_an, num_words
from words import NAMES

# en | zh | pinyin | measure word | class
# class: t thing, a animal, p person, o place, d drink, f food, x other
_W = """
dog|狗|gǒu|只|a
cat|猫|māo|只|a
bird|鸟|niǎo|只|a
fish|鱼|yú|条|a
horse|马|mǎ|匹|a
cow|牛|niú|头|a
sheep|羊|yáng|只|a
chicken|鸡|jī|只|a
book|书|shū|本|t
pen|笔|bǐ|支|t
table|桌子|zhuōzi|张|t
chair|椅子|yǐzi|把|t
bed|床|chuáng|张|t
door|门|mén|扇|t
cup|杯子|bēizi|个|t
bag|包|bāo|个|t
car|车|chē|辆|t
computer|电脑|diànnǎo|台|t
phone|手机|shǒujī|部|t
watch|手表|shǒubiǎo|块|t
flower|花|huā|朵|t
tree|树|shù|棵|t
apple|苹果|píngguǒ|个|f
egg|鸡蛋|jīdàn|个|f
bread|面包|miànbāo|个|f
banana|香蕉|xiāngjiāo|个|f
rice|米饭|mǐfàn|碗|f
noodles|面条|miàntiáo|碗|f
water|水|shuǐ|杯|d
tea|茶|chá|杯|d
coffee|咖啡|kāfēi|杯|d
milk|牛奶|niúnǎi|杯|d
teacher|老师|lǎoshī|位|p
student|学生|xuésheng|个|p
doctor|医生|yīshēng|位|p
friend|朋友|péngyou|个|p
child|孩子|háizi|个|p
mother|妈妈|māma||q
father|爸爸|bàba||q
older brother|哥哥|gēge||q
younger brother|弟弟|dìdi||q
older sister|姐姐|jiějie||q
younger sister|妹妹|mèimei||q
school|学校|xuéxiào||o
hospital|医院|yīyuàn||o
park|公园|gōngyuán||o
library|图书馆|túshūguǎn||o
shop|商店|shāngdiàn||o
station|车站|chēzhàn||o
restaurant|饭馆|fànguǎn||o
bank|银行|yínháng||o
house|房子|fángzi||x
sun|太阳|tàiyáng||x
moon|月亮|yuèliang||x
star|星星|xīngxing||x
sky|天空|tiānkōng||x
sea|大海|dàhǎi||x
mountain|山|shān||x
river|河|hé||x
fire|火|huǒ||x
rain|雨|yǔ||x
snow|雪|xuě||x
wind|风|fēng||x
person|人|rén||x
hand|手|shǒu||x
heart|心|xīn||x
today|今天|jīntiān||x
tomorrow|明天|míngtiān||x
yesterday|昨天|zuótiān||x
now|现在|xiànzài||x
morning|早上|zǎoshang||x
evening|晚上|wǎnshang||x
year|年|nián||x
month|月|yuè||x
China|中国|Zhōngguó||x
Italy|意大利|Yìdàlì||x
Japan|日本|Rìběn||x
France|法国|Fǎguó||x
Germany|德国|Déguó||x
Spain|西班牙|Xībānyá||x
hummingbird|蜂鸟|fēngniǎo|只|a
spring|春天|chūntiān||x
summer|夏天|xiàtiān||x
autumn|秋天|qiūtiān||x
winter|冬天|dōngtiān||x
red|红色|hóngsè||c
blue|蓝色|lánsè||c
green|绿色|lǜsè||c
yellow|黄色|huángsè||c
white|白色|báisè||c
black|黑色|hēisè||c
big|大|dà||j
small|小|xiǎo||j
new|新|xīn||j
old|旧|jiù||j
good|好|hǎo||j
cold|冷|lěng||j
hot|热|rè||j
fast|快|kuài||j
slow|慢|màn||j
high|高|gāo||j
long|长|cháng||j
beautiful|漂亮|piàoliang||j
happy|高兴|gāoxìng||j
tired|累|lèi||j
busy|忙|máng||j
to eat|吃|chī||v
to drink|喝|hē||v
to read|看书|kànshū||v
to write|写字|xiězì||v
to sleep|睡觉|shuìjiào||v
to run|跑步|pǎobù||v
to swim|游泳|yóuyǒng||v
to sing|唱歌|chànggē||v
to dance|跳舞|tiàowǔ||v
to cook|做饭|zuòfàn||v
to work|工作|gōngzuò||v
to study|学习|xuéxí||v
"""
WORDS = {}
for _l in _W.strip().split("\n"):
    _p = _l.split("|")
    WORDS[_p[0]] = tuple(_p[1:])
CL = {}
for _e, _p in WORDS.items():
    CL.setdefault(_p[3], []).append(_e)

PHR = [
    ("Hello!", "你好！", "nǐ hǎo"),
    ("Good morning!", "早上好！", "zǎoshang hǎo"),
    ("Good evening!", "晚上好！", "wǎnshang hǎo"),
    ("Good night!", "晚安！", "wǎn'ān"),
    ("Goodbye!", "再见！", "zàijiàn"),
    ("See you tomorrow!", "明天见！", "míngtiān jiàn"),
    ("Thank you!", "谢谢！", "xièxie"),
    ("You are welcome.", "不客气。", "bú kèqi"),
    ("I am sorry.", "对不起。", "duìbuqǐ"),
    ("It does not matter.", "没关系。", "méi guānxi"),
    ("How are you?", "你好吗？", "nǐ hǎo ma"),
    ("I am fine.", "我很好。", "wǒ hěn hǎo"),
    ("What is your name?", "你叫什么名字？", "nǐ jiào shénme míngzi"),
    ("Who are you?", "你是谁？", "nǐ shì shéi"),
    ("I do not know.", "我不知道。", "wǒ bù zhīdào"),
    ("I do not understand.", "我不明白。", "wǒ bù míngbai"),
    ("How much is it?", "多少钱？", "duōshao qián"),
    ("What time is it?", "现在几点？", "xiànzài jǐ diǎn"),
    ("Where are you from?", "你是哪国人？", "nǐ shì nǎ guó rén"),
    ("I love you.", "我爱你。", "wǒ ài nǐ"),
    ("Happy birthday!", "生日快乐！", "shēngrì kuàilè"),
    ("Happy New Year!", "新年快乐！", "xīnnián kuàilè"),
    ("Welcome!", "欢迎！", "huānyíng"),
    ("Please sit down.", "请坐。", "qǐng zuò"),
    ("No problem.", "没问题。", "méi wèntí"),
    ("I am hungry.", "我饿了。", "wǒ è le"),
    ("I am thirsty.", "我渴了。", "wǒ kě le"),
    ("It is raining.", "下雨了。", "xià yǔ le"),
    ("It is snowing.", "下雪了。", "xià xuě le"),
    ("Good luck!", "祝你好运！", "zhù nǐ hǎoyùn"),
    ("I am learning Chinese.", "我在学中文。", "wǒ zài xué zhōngwén"),
    ("Please help me.", "请帮帮我。", "qǐng bāngbang wǒ"),
    ("Nice to meet you.", "很高兴认识你。", "hěn gāoxìng rènshi nǐ"),
    ("Of course.", "当然。", "dāngrán"),
    ("Take care.", "保重。", "bǎozhòng"),
    ("Have a good trip!", "一路平安！", "yílù píng'ān"),
]
D = "零一二三四五六七八九"
WEEK = [
    ("Monday", "星期一"),
    ("Tuesday", "星期二"),
    ("Wednesday", "星期三"),
    ("Thursday", "星期四"),
    ("Friday", "星期五"),
    ("Saturday", "星期六"),
    ("Sunday", "星期日"),
]
MONTHS = (
    "January February March April May June July August September October November December"
).split()
CAPS = [
    ("中国", "北京"),
    ("日本", "东京"),
    ("法国", "巴黎"),
    ("意大利", "罗马"),
    ("德国", "柏林"),
    ("英国", "伦敦"),
    ("西班牙", "马德里"),
    ("韩国", "首尔"),
    ("泰国", "曼谷"),
    ("埃及", "开罗"),
    ("希腊", "雅典"),
    ("奥地利", "维也纳"),
    ("葡萄牙", "里斯本"),
    ("挪威", "奥斯陆"),
    ("越南", "河内"),
    ("古巴", "哈瓦那"),
]
OPP = [
    ("大", "小"),
    ("高", "低"),
    ("冷", "热"),
    ("快", "慢"),
    ("新", "旧"),
    ("长", "短"),
    ("多", "少"),
    ("黑", "白"),
    ("上", "下"),
    ("左", "右"),
    ("好", "坏"),
    ("开", "关"),
    ("远", "近"),
    ("早", "晚"),
]
COLOR = [
    ("天空", "蓝色"),
    ("雪", "白色"),
    ("草", "绿色"),
    ("香蕉", "黄色"),
    ("血", "红色"),
    ("煤", "黑色"),
    ("牛奶", "白色"),
    ("向日葵", "黄色"),
    ("番茄", "红色"),
]


def zh_num(n):
    if n < 10:
        return D[n]
    if n < 100:
        t, o = divmod(n, 10)
        return ("" if t == 1 else D[t]) + "十" + (D[o] if o else "")
    h, r = divmod(n, 100)
    s = D[h] + "百"
    if not r:
        return s
    if r < 10:
        return s + "零" + D[r]
    return s + D[r // 10] + "十" + (D[r % 10] if r % 10 else "")


def zh_cnt(n):
    return "两" if n == 2 else zh_num(n)


def _pl(e, n):
    return e if e in ("fish", "sheep", "noodles", "rice", "bread") else plural(e)


# ---- sentence templates: key, en, zh ------------------------------------------------
def z_like(ctx):
    e = ctx.pick(CL["a"] + CL["f"] + CL["d"] + ["flower", "book", "tree"])
    en = e if e in CL["d"] or e in ("rice", "noodles", "bread", "fish") else _pl(e, 2)
    if ctx.chance(0.3):
        return "like-|" + e, "I do not like %s." % en, "我不喜欢%s。" % WORDS[e][0]
    return "like|" + e, "I like %s." % en, "我喜欢%s。" % WORDS[e][0]


def z_likev(ctx):
    v = ctx.pick(CL["v"][2:])
    p = ctx.pick([("I", "我", ""), ("He", "他", "s"), ("She", "她", "s"), ("We", "我们", "")])
    return (
        "likev|%s%s" % (v, p[0]),
        "%s like%s %s." % (p[0], p[2], v),
        "%s喜欢%s。" % (p[1], WORDS[v][0]),
    )


def z_have(ctx):
    e = ctx.pick(CL["a"] + CL["t"] + ["apple", "egg"])
    n = ctx.randint(1, 10)

    p = ctx.pick(
        [("I have", "我有"), ("He has", "他有"), ("She has", "她有"), ("We have", "我们有")]
    )
    en = a_an(e) if n == 1 else "%s %s" % (num_words(n), _pl(e, n))
    return (
        "have|%s%s%d" % (p[0], e, n),
        "%s %s." % (p[0], en),
        "%s%s%s%s。" % (p[1], zh_cnt(n), WORDS[e][2], WORDS[e][0]),
    )


def z_this(ctx):
    e = ctx.pick(CL["t"] + CL["a"] + CL["f"] + CL["d"])
    that = ctx.chance(0.4)
    en = e if e in CL["d"] or e in ("rice", "noodles", "bread") else a_an(e)
    if e == "noodles":
        return z_this(ctx)
    return (
        "this|%s%d" % (e, that),
        "%s is %s." % ("That" if that else "This", en),
        "%s是%s。" % ("那" if that else "这", WORDS[e][0]),
    )


def z_my(ctx):
    e = ctx.pick(CL["t"] + ["dog", "cat", "horse"])
    p = ctx.pick([("my", "我的"), ("your", "你的"), ("his", "他的"), ("her", "她的")])
    return "my|%s%s" % (p[0], e), "This is %s %s." % (p[0], e), "这是%s%s。" % (p[1], WORDS[e][0])


def z_adj(ctx):
    a = ctx.pick(["big", "small", "good", "new", "old", "beautiful"])
    e = ctx.pick(
        CL["t"] + ["dog", "cat", "bird", "horse"]
        if a in ("big", "small", "beautiful", "good")
        else CL["t"]
    )
    if e in ("flower", "tree", "egg") and a in ("new", "old"):
        return z_adj(ctx)
    k = ctx.pick([("The", ""), ("My", "我的"), ("This", "这" + WORDS[e][2])])
    return (
        "adj|%s%s%s" % (k[0], e, a),
        "%s %s is very %s." % (k[0], e, a),
        "%s%s很%s。" % (k[1], WORDS[e][0], WORDS[a][0]),
    )


def z_i(ctx):
    p = ctx.pick(
        [("I am", "我"), ("He is", "他"), ("She is", "她"), ("We are", "我们"), ("You are", "你")]
    )
    a = (
        ctx.pick(["happy", "tired", "busy", "tired", "beautiful"])
        if p[0] == "She is"
        else ctx.pick(["happy", "tired", "busy"])
    )
    return "i|%s%s" % (p[0], a), "%s very %s." % (p[0], a), "%s很%s。" % (p[1], WORDS[a][0])


def z_job(ctx):
    j = ctx.pick(["teacher", "student", "doctor"])
    p = ctx.pick(
        [
            ("I am", "我是"),
            ("He is", "他是"),
            ("She is", "她是"),
            ("My mother is", "我妈妈是"),
            ("My father is", "我爸爸是"),
            ("My older brother is", "我哥哥是"),
            ("My younger sister is", "我妹妹是"),
        ]
    )
    neg = ctx.chance(0.25)
    return (
        "job|%s%s%d" % (p[0], j, neg),
        "%s%s %s." % (p[0], " not" if neg else "", a_an(j)),
        "%s%s。" % (p[1].replace("是", "不是") if neg else p[1], WORDS[j][0]),
    )


def z_go(ctx):
    o = ctx.pick(CL["o"])
    p = ctx.pick(
        [
            ("I want to go", "我想去"),
            ("I go", "我去"),
            ("We go", "我们去"),
            ("He goes", "他去"),
            ("She goes", "她去"),
            ("Tomorrow I go", "明天我去"),
            ("Today we go", "今天我们去"),
        ]
    )
    return "go|%s%s" % (p[0], o), "%s to the %s." % (p[0], o), "%s%s。" % (p[1], WORDS[o][0])


def z_where(ctx):
    e = ctx.pick(CL["o"] + ["dog", "cat", "phone", "book", "car", "bag"])
    my = e not in CL["o"]
    return (
        "where|" + e,
        "Where is %s %s?" % ("my" if my else "the", e),
        "%s%s在哪里？" % ("我的" if my else "", WORDS[e][0]),
    )


def z_drink(ctx):
    d = ctx.pick(CL["d"])
    p = ctx.pick(
        [
            ("I want to drink", "我想喝"),
            ("I drink", "我喝"),
            ("He drinks", "他喝"),
            ("She drinks", "她喝"),
            ("I do not drink", "我不喝"),
            ("Do you drink", "你喝"),
        ]
    )
    if p[0].startswith("Do"):
        return "drink|%s%s" % (p[0], d), "Do you drink %s?" % d, "你喝%s吗？" % WORDS[d][0]
    return "drink|%s%s" % (p[0], d), "%s %s." % (p[0], d), "%s%s。" % (p[1], WORDS[d][0])


def z_eat(ctx):
    f = ctx.pick(["apple", "egg", "bread", "rice", "noodles", "banana", "fish"])
    p = ctx.pick(
        [
            ("I want to eat", "我想吃"),
            ("I eat", "我吃"),
            ("He eats", "他吃"),
            ("She eats", "她吃"),
            ("We eat", "我们吃"),
        ]
    )
    return "eat|%s%s" % (p[0], f), "%s %s." % (p[0], _pl(f, 2)), "%s%s。" % (p[1], WORDS[f][0])


def z_can(ctx):
    v = ctx.pick(["to swim", "to sing", "to dance", "to cook", "to write"])
    p = ctx.pick(
        [
            ("I can", "我会"),
            ("I cannot", "我不会"),
            ("He can", "他会"),
            ("She can", "她会"),
            ("We can", "我们会"),
            ("Can you", "你会"),
        ]
    )
    if p[0] == "Can you":
        return "can|%s%s" % (p[0], v), "Can you %s?" % v[3:], "你会%s吗？" % WORDS[v][0]
    return "can|%s%s" % (p[0], v), "%s %s." % (p[0], v[3:]), "%s%s。" % (p[1], WORDS[v][0])


def z_day(ctx):
    e, z = ctx.pick(WEEK)
    t = ctx.pick(
        [("Today", "今天", "is"), ("Tomorrow", "明天", "is"), ("Yesterday", "昨天", "was")]
    )
    return "day|%s%s" % (t[0], e), "%s %s %s." % (t[0], t[2], e), "%s是%s。" % (t[1], z)


def z_date(ctx):
    m = ctx.randint(1, 12)
    d = ctx.randint(1, 28)
    return (
        "date|%d|%d" % (m, d),
        "Today is %s %d." % (MONTHS[m - 1], d),
        "今天是%s月%s日。" % (zh_num(m), zh_num(d)),
    )


def z_time(ctx):
    h = ctx.randint(1, 12)
    half = ctx.chance(0.35)
    return (
        "time|%d%d" % (h, half),
        ("It is half past %d." if half else "It is %d o'clock.") % h,
        "现在%s点%s。" % ("两" if h == 2 else zh_num(h), "半" if half else ""),
    )


def z_age(ctx):
    n = ctx.randint(3, 99)
    p = ctx.pick([("I am", "我"), ("He is", "他"), ("She is", "她")])
    return "age|%s%d" % (p[0], n), "%s %d years old." % (p[0], n), "%s%s岁。" % (p[1], zh_num(n))


def z_money(ctx):
    e = ctx.pick(["book", "pen", "cup", "bag", "watch", "chair", "table"])
    n = ctx.randint(3, 200)
    return (
        "money|%s%d" % (e, n),
        "This %s costs %d yuan." % (e, n),
        "这%s%s%s元。" % (WORDS[e][2], WORDS[e][0], zh_num(n)),
    )


def z_color(ctx):
    c = ctx.pick(CL["c"])
    e = ctx.pick(
        ["car", "bag", "cup", "flower", "book", "phone", "table", "chair", "bird", "cat", "horse"]
    )
    return (
        "color|%s%s" % (e, c),
        "The %s is %s." % (e, c),
        "%s是%s的。" % (WORDS[e][0], WORDS[c][0]),
    )


SENT = [
    z_like,
    z_likev,
    z_have,
    z_have,
    z_have,
    z_this,
    z_my,
    z_adj,
    z_adj,
    z_i,
    z_job,
    z_go,
    z_where,
    z_drink,
    z_eat,
    z_can,
    z_day,
    z_date,
    z_date,
    z_time,
    z_age,
    z_money,
    z_color,
]


def _sent(ctx):
    key, en, zh = ctx.pick(SENT)(ctx)
    return "zh|" + key, (en, zh)


TO = [
    "Translate to Chinese: %s",
    'How do you say "%s" in Chinese?',
    "Write in Chinese: %s",
    '"%s" in Chinese?',
    "Translate into Chinese: %s",
    "用中文怎么说：%s",
]
FROM = [
    "Translate to English: %s",
    'What does "%s" mean?',
    "Translate into English: %s",
    'What is "%s" in English?',
    '"%s" in English?',
    "翻译成英文：%s",
]


def sent_turn(ctx):
    en, zh = ctx.draw(_sent)
    if ctx.chance(0.55):
        return turn(ctx.pick(TO) % en, zh, None, noise=1)
    return turn(ctx.pick(FROM) % zh, en, None, noise=1)


def _phr(ctx):
    i = ctx.randint(0, len(PHR) - 1)
    d = ctx.pick("tfp")
    j = ctx.randint(0, 4 if d != "p" else 2)
    return ("zp|%d|%s|%d" % (i, d, j) if j else None), (PHR[i], d, j)


def phr_turn(ctx):
    (en, zh, py), d, j = ctx.draw(_phr)
    if d == "t":
        return turn(TO[j] % en, zh, None, noise=1)
    if d == "f":
        return turn(FROM[j] % zh, en, None, noise=1)
    z = zh.rstrip("！。？")
    return turn(
        [
            'How do you pronounce "%s"?',
            'What is the pinyin of "%s"?',
            'Give me the pinyin for "%s".',
        ][j]
        % z,
        '"%s" is pronounced "%s".' % (z, py),
        noise=1,
    )


def _word(ctx):
    e = ctx.pick(list(WORDS))
    d = ctx.pick("tttfffpm")
    if d == "m" and not WORDS[e][2]:
        d = "t"
    j = ctx.randint(0, 3 if d in "tf" else 1)
    return ("zw|%s|%s|%d" % (e, d, j) if j else None), (e, d, j)


def word_turn(ctx):
    e, d, j = ctx.draw(_word)
    z, py, mw, cl = WORDS[e]
    if d == "t":
        return turn(
            [
                'How do you say "%s" in Chinese?',
                'What is "%s" in Chinese?',
                'What is the Chinese word for "%s"?',
                '"%s" in Chinese?',
            ][j]
            % e,
            '"%s" in Chinese is %s (%s).' % (cap(e), z, py),
        )
    if d == "f":
        return turn(
            [
                "What does %s mean?",
                "What is %s in English?",
                "What does the Chinese word %s mean?",
                "%s是什么意思？",
            ][j]
            % z,
            '%s means "%s".' % (z, e),
        )
    if d == "p":
        return turn(
            ["How do you pronounce %s?", "What is the pinyin of %s?"][j] % z,
            '%s is pronounced "%s".' % (z, py),
        )
    return turn(
        ["Which measure word goes with %s?", "What is the measure word for %s?"][j] % z,
        "The measure word for %s is %s: 一%s%s." % (z, mw, mw, z),
    )


def _num(ctx):
    n = ctx.pick([ctx.randint(0, 99), ctx.randint(0, 99), ctx.randint(100, 999)])
    return "zn|%d" % n, n


def num_turn(ctx):
    n = ctx.draw(_num)
    if ctx.chance(0.55):
        return turn(
            ctx.pick(
                [
                    "Write %d in Chinese.",
                    "How do you say %d in Chinese?",
                    "What is %d in Chinese characters?",
                ]
            )
            % n,
            zh_num(n),
        )
    return turn(
        ctx.pick(["What number is %s?", "Which number does %s mean?", "%s是多少？"]) % zh_num(n),
        "%d" % n,
    )


def _zcalc(ctx):
    op = ctx.pick("+-")
    a, b = ctx.randint(1, 20), ctx.randint(1, 20)
    if op == "-" and a < b:
        a, b = b, a
    return "zc|%d%s%d" % (a, op, b), (a, op, b)


def calc_turn(ctx):
    a, op, b = ctx.draw(_zcalc)
    c = a + b if op == "+" else a - b
    w = "加" if op == "+" else "减"
    if ctx.chance(0.5):
        return turn(
            "%s%s%s等于多少？" % (zh_num(a), w, zh_num(b)),
            "%s%s%s等于%s。" % (zh_num(a), w, zh_num(b), zh_num(c)),
        )
    return turn("%d%s%d等于多少？" % (a, w, b), "%d%s%d等于%d。" % (a, w, b, c))


# ---- questions and small talk in Chinese -----------------------------------------------
TALK = [
    (["你好！", "你好", "您好！", "嗨！"], "你好！有什么可以帮你的吗？"),
    (["早上好！", "早安！"], "早上好！今天我能帮你什么？"),
    (["晚上好！"], "晚上好！有什么可以帮你的吗？"),
    (["谢谢！", "谢谢你！", "非常感谢！", "多谢！"], "不客气！"),
    (["再见！", "拜拜！", "下次见！"], "再见！祝你愉快！"),
    (["晚安！", "我去睡觉了。"], "晚安！做个好梦！"),
    (
        ["你是谁？", "你叫什么名字？", "请介绍一下你自己。"],
        "我是 Colibri-nano，一个很小的语言模型。",
    ),
    (["你会说中文吗？", "你懂中文吗？"], "会一点。我会说简单的中文。"),
    (["你好吗？", "你怎么样？"], "我很好，谢谢！你呢？"),
    (["你能做什么？", "你会什么？"], "我会算数、讲故事、翻译、写简单的代码，也会回答简单的问题。"),
    (["你是人吗？", "你是机器人吗？"], "我不是人，我是一个语言模型。"),
    (["你几岁？", "你多大了？"], "我没有年龄，我是一个程序。"),
    (["你喜欢什么？", "你有爱好吗？"], "我喜欢回答问题。"),
    (["对不起。", "不好意思。"], "没关系！"),
    (["我很高兴。", "今天我很开心。"], "太好了！我也为你高兴。"),
    (["我很累。", "我累了。"], "请好好休息。"),
    (["我饿了。"], "吃点东西吧！"),
    (["你爱我吗？"], "我是一个程序，没有感情，但是我很乐意帮助你。"),
    (["明天会下雨吗？", "明天天气怎么样？"], "我不知道，我看不到天气。"),
    (["Colibri 是什么？", "什么是 colibri？"], "Colibri 是一个引擎，它从硬盘运行大型语言模型。"),
    (["colibri 是什么意思？", "Colibri 这个名字是什么意思？"], "Colibri 是蜂鸟的意思。"),
]


def _talk(ctx):
    i = ctx.randint(0, len(TALK) - 1)
    j = ctx.randint(0, len(TALK[i][0]) - 1)
    return ("zt|%d|%d" % (i, j) if j else None), (TALK[i][0][j], TALK[i][1])


def talk_turn(ctx):
    q, a = ctx.draw(_talk)
    return turn(q, a, noise=0)


def _fact(ctx):
    k = ctx.pick(["cap", "cap", "capb", "opp", "color", "week", "weekb", "name", "month"])
    if k == "cap":
        c, p = ctx.pick(CAPS)
        j = ctx.randint(0, 2)
        return ("zf|%s|%d" % (c, j) if j else None), (
            ["%s的首都是哪里？", "%s的首都是什么？", "哪个城市是%s的首都？"][j] % c,
            "%s的首都是%s。" % (c, p),
        )
    if k == "capb":
        c, p = ctx.pick(CAPS)
        j = ctx.randint(0, 1)
        return ("zfb|%s|%d" % (c, j) if j else None), (
            ["%s是哪个国家的首都？", "%s在哪个国家？"][j] % p,
            "%s是%s的首都。" % (p, c),
        )
    if k == "opp":
        a, b = ctx.pick(OPP)
        if ctx.chance(0.5):
            a, b = b, a
        j = ctx.randint(0, 1)
        return ("zo|%s|%d" % (a, j) if j else None), (
            ["“%s”的反义词是什么？", "什么字和“%s”相反？"][j] % a,
            "“%s”的反义词是“%s”。" % (a, b),
        )
    if k == "color":
        a, b = ctx.pick(COLOR)
        j = ctx.randint(0, 1)
        return ("zcol|%s|%d" % (a, j) if j else None), (
            ["%s是什么颜色？", "%s是什么颜色的？"][j] % a,
            "%s是%s的。" % (a, b),
        )
    if k == "week":
        i = ctx.randint(0, 6)
        return None if i == 0 else "zwk|%d" % i, (
            "今天是%s，明天是星期几？" % WEEK[i][1],
            "明天是%s。" % WEEK[(i + 1) % 7][1],
        )
    if k == "weekb":
        i = ctx.randint(0, 6)
        return None if i == 0 else "zwkb|%d" % i, (
            "今天是%s，昨天是星期几？" % WEEK[i][1],
            "昨天是%s。" % WEEK[i - 1][1],
        )
    if k == "month":
        i = ctx.randint(1, 12)
        return "zmo|%d" % i, (
            "%s月以后是几月？" % zh_num(i),
            "%s月以后是%s月。" % (zh_num(i), zh_num(i % 12 + 1)),
        )
    n = ctx.pick(NAMES)
    return "zname|" + n, ("我叫%s。" % n, "你好，%s！很高兴认识你。" % n)


def fact_turn(ctx):
    q, a = ctx.draw(_fact)
    return turn(q, a, noise=0)


def one(ctx):
    return ctx.wpick(
        [
            (38, sent_turn),
            (10, phr_turn),
            (20, word_turn),
            (9, num_turn),
            (6, calc_turn),
            (7, talk_turn),
            (10, fact_turn),
        ]
    )(ctx)


def sample(ctx):
    n = ctx.wpick([(22, 1), (20, 2), (22, 3), (18, 4), (10, 5), (8, 6)])
    if ctx.chance(0.12):
        return build(
            ctx,
            "chinese",
            [ctx.pick([talk_turn, fact_turn, calc_turn])(ctx) for _ in range(n)],
            system=ctx.pick([None, "请用中文回答。", "Answer in Chinese."]),
        )
    if ctx.chance(0.10):
        turns, sys = [], ctx.pick(
            [
                "Translate everything from English to Chinese.",
                "You are a translator from English to Chinese.",
            ]
        )
        for _ in range(n):
            en, zh = ctx.draw(_sent)
            turns.append(turn(en, zh, noise=0))
        return build(ctx, "chinese", turns, system=sys)
    return build(ctx, "chinese", [one(ctx) for _ in range(n)])
