import Signalbox

let shop = PushAdapter(source: "shop")
let submission = await shop.post(PushMessage("order"))
print(shop.waiting, submission.currentOutcome == nil)
