import SignalboxCore

let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 15
let rows = [
    ReadingRow(
        "payment: an integer and three texts",
        Synthesized.Payment.self,
        ByHand.Payment.self,
        ByMacro.Payment.self,
        #"""
        {"amount":129900,"transactionId":"tx-20240117-00000042","paymentId":"pay_5f3c9a",\#
        "paymentGoodsName":"Noise cancelling headphones"}
        """#
    ),
    ReadingRow(
        "position: ten numbers and flags, three of them absent",
        Synthesized.Position.self,
        ByHand.Position.self,
        ByMacro.Position.self,
        #"{"x":1,"y":-2,"level":3,"zone":200,"port":8080,"seen":1700000000,"speed":1.5,"isMoving":true}"#
    ),
    ReadingRow(
        "order: five items and a list of texts",
        Synthesized.Order.self,
        ByHand.Order.self,
        ByMacro.Order.self,
        #"""
        {"id":"o-1","items":[{"name":"a","count":1},{"name":"b","count":2},{"name":"c","count":3},\#
        {"name":"d","count":4},{"name":"e","count":5}],"tags":["new","paid","gift"]}
        """#
    ),
]
// The markers of tables.py of the benchmarks.
print("<!-- table macro -->")
print("| ns a body | synthesized | by hand | by macro | by macro, times as fast as synthesized |")
print("|---|---|---|---|---|")
for row in rows { try row.printTimes(rounds: rounds) }
print("<!-- end of table macro -->")
