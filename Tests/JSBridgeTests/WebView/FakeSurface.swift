@testable import JSBridge

/// Passes on what a run asks of its view.
final class FakeSurface: WebViewSurface {
    enum Wish: Sendable { case wake, end }

    let wishes: AsyncStream<Wish>
    private let continuation: AsyncStream<Wish>.Continuation

    init() {
        (wishes, continuation) = AsyncStream.makeStream(of: Wish.self)
    }

    func wake() {
        continuation.yield(.wake)
    }

    func end() {
        continuation.yield(.end)
    }
}
