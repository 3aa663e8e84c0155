"""The messages for measuring adapters, in three shapes; one file each in a folder."""
import os

BODY = (
    '{"amount":129900,"transactionId":"tx-20240117-00000042","paymentId":"pay_5f3c9a",'
    '"paymentGoodsName":"Noise cancelling headphones"}'
)
PAYMENT = '{"action":"payment","id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","body":%s}' % BODY
LARGE = '{"action":"payment","body":{"amount":1,"transactionId":"t","paymentId":"p","paymentGoodsName":"%s"%s}}'
MESSAGES = {
    "small": PAYMENT,
    "one-string": LARGE % ("x" * 3900, ""),
    "sixty-members": LARGE % ("n", "".join(',"member%02d":"%s"' % (number, "y" * 50) for number in range(56))),
}
# How the names of the columns describe them.
SHAPES = {"small": "", "one-string": ", one string", "sixty-members": ", 60 members"}


def write_messages(folder):
    for name, text in MESSAGES.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
