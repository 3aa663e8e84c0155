/// What the pages of the benchmark do: the same messages for the bare engine and for the bridge.
enum PageScripts {
    /// 202 bytes of JSON as an envelope.
    static let body = """
        const body = { amount: 129900, transactionId: "tx-20240117-00000042", paymentId: "pay_5f3c9a",
                       paymentGoodsName: "Noise cancelling headphones" };
        """

    static func bareOneWay(_ count: Int) -> String {
        "\(body) for (let i = 0; i < \(count); i++) post(JSON.stringify({ action: 'payment', body }));"
    }

    static func oneWay(_ count: Int) -> String {
        "\(body) for (let i = 0; i < \(count); i++) window.webkit.messageHandlers.payment.postMessage(body);"
    }

    static func bareCalls(_ count: Int) -> String {
        """
        \(body) (async () => {
            for (let i = 0; i < \(count); i++) await ask(JSON.stringify({ action: 'payment', body }));
        })();
        """
    }

    /// So many callers, each of which awaits its answer before it calls again.
    static func calls(_ count: Int, inFlight callers: Int) -> String {
        """
        \(body) const caller = async () => {
            for (let i = 0; i < \(count / callers); i++) await signalbox.call('payment', body);
        };
        for (let i = 0; i < \(callers); i++) caller();
        """
    }
}
