/// What makes a loop a server's. Belongs to the service's thread.
final class LibraryServing {
    let place: ServerPlace
    let receiver: any ServerFrameReceiver

    init(_ place: ServerPlace, receiver: any ServerFrameReceiver) {
        self.place = place
        self.receiver = receiver
    }
}
