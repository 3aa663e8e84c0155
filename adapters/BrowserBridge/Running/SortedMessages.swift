import SignalboxCore
import WebSocketChat

/// A batch of the server's messages, apart: calls, which go on, and what ends here. Both are in order.
struct SortedMessages {
    var calls: [Arrival] = []
    /// Where in the batch each call was.
    var places: [Int] = []
    /// Where in the batch the others were, and which connection has ended by that.
    var others: [(place: Int, ended: ChatConnection?)] = []
}
